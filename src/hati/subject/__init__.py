"""The software under test: its revision, its builds, its configuration files, one run of it, and its readers.

A ``LocalSubject`` makes one run of a task with programs that a ``Warden``, a small process of its own, starts
and watches over: every process that a run starts ends with it, and with hati. What was printed and used is
read by one of the readers. A run that fails is a run too; only what concerns every run is an error.
"""

from hati.subject.cores import duet_cores, pinned_cores
from hati.subject.fingerprint import machine
from hati.subject.folders import make_own, remedy
from hati.subject.local import LocalSubject
from hati.subject.outputs import is_source, remember_output, remember_store
from hati.subject.programs import Ending, Program, Warden
from hati.subject.revision import directory_revision, modified_since
from hati.subject.revisions import InPlace, Revisions, Trees

__all__ = [
    "Ending",
    "InPlace",
    "LocalSubject",
    "Program",
    "Revisions",
    "Trees",
    "Warden",
    "directory_revision",
    "duet_cores",
    "is_source",
    "machine",
    "make_own",
    "modified_since",
    "pinned_cores",
    "remedy",
    "remember_output",
    "remember_store",
]
