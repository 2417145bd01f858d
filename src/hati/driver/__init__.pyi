from .calibrating import DEMANDS_MS as DEMANDS_MS
from .calibrating import EXECUTIONS as EXECUTIONS
from .calibrating import calibrate as calibrate
from .compiling import LoadDriverError as LoadDriverError
from .compiling import compile_program as compile_program
from .compiling import compiler as compiler
from .running import compile_and_run as compile_and_run
