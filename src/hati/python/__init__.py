"""The Python binding: decorators, the recorder that a measured interpreter runs, and benchmarks of functions.

``python_benchmark`` makes an ordinary benchmark from a function, a workload and an instance generator; engines, stores,
revisions and kept builds treat it like any other. Names are loaded on first use, so that a module that imports the
decorators loads nothing else.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
