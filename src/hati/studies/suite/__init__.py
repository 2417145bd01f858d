"""Screening suites: the metric's distribution over a whole space, estimated from its important options' strata."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
