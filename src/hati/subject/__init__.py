"""The software under test: its revisions, builds, configuration files, runs and readers.

A ``LocalExecutor`` runs a job with programs that a ``Supervisor``, a small separate process, starts and supervises:
every process that a run starts ends with the run, and with hati. A reader reads the output and the resource usage.
A failed run is a run too; only a problem that affects every run is an error.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
