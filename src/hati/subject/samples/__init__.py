"""Files of measurements, Hati's own and other tools', read into samples: raw data, units kept, in bounded memory.

``read_samples`` takes a file, finds its format and reads it. Each format is one module: a function that is given the
file's values or lines, each of which knows its place, and puts runs into a ``Book``. What one process repeated is one
run, however often; a run is what a fresh process yielded.
"""

from hati.subject.samples.reading import ImportedSamples, measured_files, read_all, read_samples

__all__ = ["ImportedSamples", "measured_files", "read_all", "read_samples"]
