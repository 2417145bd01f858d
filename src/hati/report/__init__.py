"""Reports as plain frozen values: tables, figure data, sentences and exchanged values.

A conclusion goes in; out come tables (text for people, values for programs), the data of figures in tidied
units, and the names and unrounded numbers that programs rely on. Drawing them is the renderers' work.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
