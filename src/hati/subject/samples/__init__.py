"""Files of measurements, Hati's own and other tools', read into samples: raw data, units kept, in bounded memory.

``read_samples`` takes a file, finds its format and reads it. Each format is one module: a function that is given the
file's values or lines, each of which knows its place, and puts runs into a ``Book``.
"""

from hati.subject.samples.reading import Imported, read_samples

__all__ = ["Imported", "read_samples"]
