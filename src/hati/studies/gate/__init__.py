"""The regression check: two revisions, measured now over configurations that represent a space; which is slower, where,
and because of which option.

Rounds consist of interleaved pairs; a round is the unit of replication. A suspected change is confirmed on fresh runs
before it is reported: both stages test at the square root of the level, so that together they err at the level.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
