"""Infrastructure experiments: raw observations of kernels in, properties of the machine out; and their order.

Each detector returns value, unit, interval and verdict. After Hauck, Kuperberg, Huber and Reussner (2011), Ginpex.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
