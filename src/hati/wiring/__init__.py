"""Run studies on this machine; the only package that chooses engines, stores and readers.

The functions behind the command line: open a workplace, then measure, screen, or conclude from the store.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
