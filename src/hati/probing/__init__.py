"""Infrastructure experiments on this machine: kernels in C, other processes, settings of the operating system."""

from hati.probing.executing import AddedExperiment, Executed, Setting, execute, neighbours_json, read_neighbours
from hati.probing.kernel import KernelProgram, NotPermittedError

__all__ = [
    "AddedExperiment",
    "Executed",
    "KernelProgram",
    "NotPermittedError",
    "Setting",
    "execute",
    "neighbours_json",
    "read_neighbours",
]
