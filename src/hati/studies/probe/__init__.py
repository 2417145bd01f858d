"""Infrastructure experiments: raw observations of kernels in, properties of the machine out; which are measured when.

Each detector answers with value, unit, interval and verdict. After Hauck, Kuperberg, Huber and Reussner (2011), Ginpex.
"""

from hati.studies.probe.conclusion import ProbeConclusion, Probed
from hati.studies.probe.finding import (
    Neighbour,
    ProbeVerdict,
    Property,
    Raw,
    contaminated,
    inconclusive,
)
from hati.studies.probe.gaps import GapMode, Gaps, Rhythm, gaps_of, mode_of, rhythm_of
from hati.studies.probe.library import (
    DEMAND_MS,
    LIBRARY,
    Experiment,
    Inputs,
    chosen_experiments,
    see_given,
)
from hati.studies.probe.noise import detectable

__all__ = [
    "DEMAND_MS",
    "LIBRARY",
    "Experiment",
    "GapMode",
    "Gaps",
    "Inputs",
    "Neighbour",
    "ProbeConclusion",
    "ProbeVerdict",
    "Probed",
    "Property",
    "Raw",
    "Rhythm",
    "chosen_experiments",
    "contaminated",
    "detectable",
    "gaps_of",
    "inconclusive",
    "mode_of",
    "rhythm_of",
    "see_given",
]
