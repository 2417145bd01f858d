"""Recommendations: the settings to change, predicted from a screening, followed up, and confirmed by fresh runs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
