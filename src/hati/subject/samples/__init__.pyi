from .reading import ImportedSamples as ImportedSamples
from .reading import measured_files as measured_files
from .reading import read_all as read_all
from .reading import read_samples as read_samples
