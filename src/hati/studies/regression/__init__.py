"""Regressions: where the history of a metric changed, by how much, and whether it drifts.

A ``Series`` goes in, a ``HistoryConclusion`` comes out; ``histories`` corrects for the many series of a file.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
