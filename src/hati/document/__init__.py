"""Documents as plain frozen values: facts, tables, charts, formatted numbers, and published values.

Each kind of study has a module that turns its conclusion into a document; renderers draw any document.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
