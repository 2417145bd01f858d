"""Audit a comparison: its error rates without a change, and its sensitivity, measured on existing runs.

The runs of one thing are repeatedly split into halves, and the halves are compared like two samples.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
