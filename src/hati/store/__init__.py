"""The store: studies, their choices and their runs, in an SQL database.

Observations are stored raw, in order, with their warm-up, compressed. Each run is committed before ``record`` returns.
Tables are created and upgraded by migrations when a store is opened.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
