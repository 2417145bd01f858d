"""Bisection: find the commits that changed a metric between a good and a bad revision, with as few runs as needed.

Every probe is measured together with the good revision, in pairs, until changes are located on one side of it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
