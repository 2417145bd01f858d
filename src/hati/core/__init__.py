"""The words that all of Hati speaks, as frozen types that are valid once they exist.

Options' settings and configurations; metrics and benchmarks; studies, tasks and plans; runs,
observations and evidence; machines, units, seeds and errors; and the ports that studies, engines
and stores fill. Nothing here does I/O.
"""

from hati.core.benchmark import (
    AUTO,
    TOOLS,
    Benchmark,
    Binding,
    Command,
    Commands,
    ConfigurationFile,
    Reader,
    ReaderKind,
    Ready,
    Server,
    Warmup,
)
from hati.core.errors import HatiError, InputError, MeasurementError, NotInstalledError, Place
from hati.core.evidence import Evidence
from hati.core.finding import Event, Finding, FindingState, Happening, Size, Spot
from hati.core.machine import Machine
from hati.core.metric import SINGLE_CALLS, Better, Metric
from hati.core.pairing import Pairing
from hati.core.plan import Budget, Plan
from hati.core.ports import Engine, Store, Study
from hati.core.revision import Revision, RevisionKind
from hati.core.run import LARGEST, FloatArray, Observations, Outcome, Resources, Run
from hati.core.sample import NO_ORIGIN, NO_USAGE, Origin, Sample, SampledRun, SampleFormat, Usage, sampled, usage
from hati.core.seeds import generator
from hati.core.spreadsheet import guarded, unguarded
from hati.core.stopping import Stopping
from hati.core.study import StudyId, Task, digest
from hati.core.units import Unit, conversion, is_unit, parse_duration, parse_unit
from hati.core.values import Assignment, Configuration, Setting, Workload, canonical_json, setting_text

__all__ = [
    "AUTO",
    "LARGEST",
    "NO_ORIGIN",
    "NO_USAGE",
    "SINGLE_CALLS",
    "TOOLS",
    "Assignment",
    "Benchmark",
    "Better",
    "Binding",
    "Budget",
    "Command",
    "Commands",
    "Configuration",
    "ConfigurationFile",
    "Engine",
    "Event",
    "Evidence",
    "Finding",
    "FindingState",
    "FloatArray",
    "Happening",
    "HatiError",
    "InputError",
    "Machine",
    "MeasurementError",
    "Metric",
    "NotInstalledError",
    "Observations",
    "Origin",
    "Outcome",
    "Pairing",
    "Place",
    "Plan",
    "Reader",
    "ReaderKind",
    "Ready",
    "Resources",
    "Revision",
    "RevisionKind",
    "Run",
    "Sample",
    "SampleFormat",
    "SampledRun",
    "Server",
    "Setting",
    "Size",
    "Spot",
    "Stopping",
    "Store",
    "Study",
    "StudyId",
    "Task",
    "Unit",
    "Usage",
    "Warmup",
    "Workload",
    "canonical_json",
    "conversion",
    "digest",
    "generator",
    "guarded",
    "is_unit",
    "parse_duration",
    "parse_unit",
    "sampled",
    "setting_text",
    "unguarded",
    "usage",
]
