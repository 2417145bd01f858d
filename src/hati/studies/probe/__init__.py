"""Infrastructure experiments: raw observations of kernels in, properties of the machine out; and their order.

Each detector returns value, unit, interval and verdict. After Hauck, Kuperberg, Huber and Reussner (2011), Ginpex.
"""

from hati.studies.probe.conclusion import ProbeConclusion, Probed
from hati.studies.probe.devices import link_properties
from hati.studies.probe.difference import PropertyChange, PropertyDifference, differences
from hati.studies.probe.finding import (
    Neighbour,
    ProbeVerdict,
    Property,
    Raw,
    contaminated,
    inconclusive,
)
from hati.studies.probe.fitness import (
    EXPERIMENTS,
    Conditions,
    Disturbance,
    DisturbanceKind,
    Fitness,
    VisibleChange,
    fitness,
    shown_disturbances,
    unfit_warning,
)
from hati.studies.probe.gaps import GapMode, Gaps, Rhythm, gaps_of, mode_of, rhythm_of
from hati.studies.probe.library import (
    DEMAND_MS,
    LIBRARY,
    Experiment,
    Inputs,
    chosen_experiments,
    validate_given,
)
from hati.studies.probe.noise import detectable
from hati.studies.probe.recovery import Recovery, RecoveryOutcome, not_injected, recovered

__all__ = [
    "DEMAND_MS",
    "EXPERIMENTS",
    "LIBRARY",
    "Conditions",
    "Disturbance",
    "DisturbanceKind",
    "Experiment",
    "Fitness",
    "GapMode",
    "Gaps",
    "Inputs",
    "Neighbour",
    "ProbeConclusion",
    "ProbeVerdict",
    "Probed",
    "Property",
    "PropertyChange",
    "PropertyDifference",
    "Raw",
    "Recovery",
    "RecoveryOutcome",
    "Rhythm",
    "VisibleChange",
    "chosen_experiments",
    "contaminated",
    "detectable",
    "differences",
    "fitness",
    "gaps_of",
    "inconclusive",
    "link_properties",
    "mode_of",
    "not_injected",
    "recovered",
    "rhythm_of",
    "shown_disturbances",
    "unfit_warning",
    "validate_given",
]
