"""Compare two variants, measured now in pairs of interleaved runs, until it is decided or a limit is reached.

The differences of pairs are tested: slow changes of a machine cancel in them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
