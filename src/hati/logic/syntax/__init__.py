"""The language of formulas: one grammar, and frozen trees that ``str`` prints so that they parse to equal ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
