"""Effects at two revisions: which options matter more or less than before, and by how much.

A screening's design is measured at both, in rounds of pairs. The effect of an option is estimated in each round at each
revision; a change of it is tested on the differences of pairs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
