"""The door for volunteers: a store's ledger behind HTTP, for machines that only reach out.

A volunteer registers, claims batches of signed releases, and sends raw results, from which the runs are made here.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
