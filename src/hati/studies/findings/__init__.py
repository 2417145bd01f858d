"""Findings, which are reported once: their states after events, and the events of a new measurement.

This package is pure: events in, findings and further events out. The store keeps only events, so that stores can be
merged.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
