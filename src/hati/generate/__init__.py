"""Models of experiments and their programs: task sets, checked as a whole, and the C source of their load programs.

After Ginpex: a task set has a machine task set for each process, tasks that load a machine, and sensors on tasks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
