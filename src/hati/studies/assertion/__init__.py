"""Check whether stated requirements hold (the SPL paper): formulas, measurements, verdicts with their evidence."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
