"""Verdicts on relations between means, and on formulas of them: arrays in, verdicts out.

The default interpretation is three-valued, with the run as the unit; the SPL paper's interpretations follow it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
