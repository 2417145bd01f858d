"""Infrastructure experiments executed on this machine: kernels in C, what else runs, settings of the kernel."""

from hati.probing.executing import Executed, Setting, execute, neighbours_json, read_neighbours
from hati.probing.kernel import KernelProgram, NotPermittedError

__all__ = ["Executed", "KernelProgram", "NotPermittedError", "Setting", "execute", "neighbours_json", "read_neighbours"]
