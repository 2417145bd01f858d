"""Files of measurements, Hati's own and other tools', read into samples: raw data, units kept, in bounded memory.

``read_samples`` takes a file, finds its format and reads it. Each format is one function: it is given an opened file,
whose values or lines know their places, and puts runs into a ``SampleBuilder``. What one process repeated is one run,
however often; a run is what a fresh process yielded.
"""

from hati.subject.samples.reading import ImportedSamples, measured_files, read_all, read_samples

__all__ = ["ImportedSamples", "measured_files", "read_all", "read_samples"]
