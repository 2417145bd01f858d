"""Read files of measurements, Hati's own and other tools', into samples: raw data, with units, in bounded memory.

``read_samples`` detects the format of a file and reads it. Each format is one function: it gets an opened file, whose
values or lines have places, and adds runs to a ``SampleBuilder``. A run is the result of one fresh process; repetitions
within one process are one run.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
