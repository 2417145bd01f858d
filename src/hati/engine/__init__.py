"""Where tasks run: on this machine under a lock, by workers through a ledger, or looked up in a table."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
