"""The software under test: its revision, its builds, its configuration files, one run of it, and its readers.

A ``LocalExecutor`` makes the run of a job with programs that a ``Supervisor``, a small process of its own, starts
and watches over: every process that a run starts ends with it, and with hati. One of the readers reads
its output and its resource usage. A failed run is a run too; only a problem of every run is an error.
"""

from hati.subject.folders import Sources, list_sources, make_own, remedy, remember_output, remember_redirected
from hati.subject.machine_identity import GIVEN_NAME, duet_cores, machine, pinned_cores, this_machine
from hati.subject.revisions import InPlace, Revisions, Trees
from hati.subject.running.counting import describe_counting, with_counter_source
from hati.subject.running.local import LocalExecutor, LocalSubject
from hati.subject.running.programs import ProcessResult, Program, Supervisor

__all__ = [
    "GIVEN_NAME",
    "InPlace",
    "LocalExecutor",
    "LocalSubject",
    "ProcessResult",
    "Program",
    "Revisions",
    "Sources",
    "Supervisor",
    "Trees",
    "describe_counting",
    "duet_cores",
    "list_sources",
    "machine",
    "make_own",
    "pinned_cores",
    "remedy",
    "remember_output",
    "remember_redirected",
    "this_machine",
    "with_counter_source",
]
