"""Two revisions, measured now over configurations that represent a space: slower, where, because of which option?

Rounds of interleaved pairs; a round is the unit of replication. A suspected change is confirmed on fresh runs before
it is reported: both stages test at the square root of the level, so that together they err at the level.
"""

from hati.studies.gate.conclusion import AffectedOption, Broken, GateConclusion, WarmUpCut, affected_options
from hati.studies.gate.rounds import Cell, Group, groups
from hati.studies.gate.study import Gate, gate_id, runs_to_decide

__all__ = [
    "AffectedOption",
    "Broken",
    "Cell",
    "Gate",
    "GateConclusion",
    "Group",
    "WarmUpCut",
    "affected_options",
    "gate_id",
    "groups",
    "runs_to_decide",
]
