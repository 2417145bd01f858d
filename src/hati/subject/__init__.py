"""The software under test: its revision, its builds, its configuration files, one run of it, and its readers.

A ``LocalExecutor`` makes the run of a job with programs that a ``Supervisor``, a small process of its own, starts
and watches over: every process that a run starts ends with it, and with hati. One of the readers reads
its output and its resource usage. A failed run is a run too; only a problem of every run is an error.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
