"""Decisions on how to measure, without measuring: observations in, decisions out.

They cover warm-up, the observations that a quantile needs, the cheapest numbers of runs and observations that find a
change, disturbed runs, and when to stop.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
