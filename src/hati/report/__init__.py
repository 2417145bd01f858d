"""Reports as plain frozen values: tables, figure data, sentences and published values.

Each module turns a conclusion into tables (text for people, values for programs), figure data in tidied units,
and the names and unrounded numbers that programs rely on. Renderers draw them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
