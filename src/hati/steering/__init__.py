"""The choice of the next batch for a machine, and the status of the ledger of batches as values."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
