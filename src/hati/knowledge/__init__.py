"""What earlier studies know of a subject, benchmark and metric, from which later ones are planned.

Concluded values come in as plain types, entries come out: each with the study that it is from, its age, and why it is
preferred to others. Nothing here reads a store or a clock.
"""

from hati.knowledge.runs import (
    FEWEST_LEFT,
    Entry,
    KnownWarmUp,
    Provenance,
    SumsOfSquares,
    TimedRuns,
    Variation,
    age_text,
    by_cost,
    variation,
    warm_up_of,
)
from hati.knowledge.screenings import (
    FEWEST_REPRESENTATIVES,
    REPRESENTATIVES,
    Coverage,
    ImportantOptions,
    KnownEffect,
    MeasuredScreening,
    by_information,
    representative_suite,
)

__all__ = [
    "FEWEST_LEFT",
    "FEWEST_REPRESENTATIVES",
    "REPRESENTATIVES",
    "Coverage",
    "Entry",
    "ImportantOptions",
    "KnownEffect",
    "KnownWarmUp",
    "MeasuredScreening",
    "Provenance",
    "SumsOfSquares",
    "TimedRuns",
    "Variation",
    "age_text",
    "by_cost",
    "by_information",
    "representative_suite",
    "variation",
    "warm_up_of",
]
