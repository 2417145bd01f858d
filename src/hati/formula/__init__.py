"""The core of all formula languages: trees of connectives over any atoms, their parser and printer.

A package with its own language defines its atoms and their notation. This package provides connectives, comparisons,
evaluation in Kleene's logic or any other algebra, places, and error messages.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
