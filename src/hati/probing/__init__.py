"""Infrastructure experiments on this machine: kernels in C, other processes, settings of the operating system."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
