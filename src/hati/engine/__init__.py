"""Where tasks run: on this machine, one at a time under a lock, or looked up in a table of measurements."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
