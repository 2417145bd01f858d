"""Read files of measurements, Hati's own and other tools', into samples: raw data, with units, in bounded memory.

``read_samples`` detects the format of a file and reads it. Each format is one function: it gets an opened file, whose
values or lines have places, and adds runs to a ``SampleBuilder``. A run is the result of one fresh process; repetitions
within one process are one run.
"""

from hati.subject.samples.reading import ImportedSamples, measured_files, read_all, read_samples

__all__ = ["ImportedSamples", "measured_files", "read_all", "read_samples"]
