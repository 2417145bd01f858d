"""Replay: revisions of a line measured now, over configurations that represent a space.

``studies.regression`` finds the change points and trends of their series.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
