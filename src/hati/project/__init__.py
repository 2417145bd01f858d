"""Read and check projects (``hati.toml``), with errors that point at the place.

A project file has the subject's name, its options and constraints (a :class:`hati.space.Space`) and its benchmarks.
Everything is checked when it is read: names, types, formulas, placeholders, patterns and templates. Each error has
file, line, column and the fix.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
