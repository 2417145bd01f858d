"""The vocabulary of Hati, as frozen types that are validated when they are constructed.

Options' settings and configurations; metrics and benchmarks; studies, tasks and plans; runs,
observations and evidence; machines, units, seeds and errors; and the ports that studies, engines
and stores fill. Nothing here does I/O.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
