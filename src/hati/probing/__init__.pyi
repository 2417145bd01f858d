from .executing import AddedExperiment as AddedExperiment
from .executing import Executed as Executed
from .executing import Setting as Setting
from .executing import execute as execute
from .executing import neighbours_json as neighbours_json
from .executing import read_neighbours as read_neighbours
from .kernel import KernelProgram as KernelProgram
from .kernel import NotPermittedError as NotPermittedError
