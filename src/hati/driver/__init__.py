"""The load driver: compiles load programs by the machine's C compiler, runs them together, collects observations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
