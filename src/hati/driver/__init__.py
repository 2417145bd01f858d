"""The load driver: compiles load programs by the machine's C compiler, runs them together, collects observations."""

from hati.driver.calibrating import DEMANDS_MS, EXECUTIONS, calibrate
from hati.driver.compiling import LoadDriverError, compile_program, compiler
from hati.driver.running import compile_and_run

__all__ = [
    "DEMANDS_MS",
    "EXECUTIONS",
    "LoadDriverError",
    "calibrate",
    "compile_and_run",
    "compile_program",
    "compiler",
]
