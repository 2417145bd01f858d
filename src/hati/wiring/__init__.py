"""The only place that chooses engines, stores and readers: studies made to run on this machine.

What the command line does is here as functions: open a workplace, then measure, screen, or conclude from the store.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
