from .calibrating import DEMANDS_MS as DEMANDS_MS
from .calibrating import EXECUTIONS as EXECUTIONS
from .calibrating import calibrate as calibrate
from .running import LoadDriverError as LoadDriverError
from .running import compile_and_run as compile_and_run
from .running import compile_program as compile_program
from .running import compiler as compiler
