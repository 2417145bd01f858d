"""The regression check: two revisions, measured now over configurations that represent a space; which is slower, where,
and because of which option.

Rounds consist of interleaved pairs; a round is the unit of replication. Further rounds measure only the configurations
of a suspected change; it is reported if all of its rounds together show it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
