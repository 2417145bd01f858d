"""Compare two samples of each of many benchmarks: slower, faster, the same, or what would decide.

The run is the unit: observations of one run are not independent, and never pooled.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
