"""How often a comparison errs where nothing changed, and what it finds: measured on runs that there are.

The runs of one thing are split in halves, again and again, and the halves compared as two samples are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
