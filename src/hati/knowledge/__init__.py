"""What earlier studies know of a subject, benchmark and metric, from which later ones are planned.

Concluded values come in as plain types, entries come out: each with the study that it is from, its age, and why it is
preferred to others. Nothing here reads a store or a clock.
"""

from hati.knowledge.cost import TimedRuns, by_cost
from hati.knowledge.coverage import Coverage
from hati.knowledge.entry import Entry, Provenance, age_text
from hati.knowledge.importance import ImportantOptions, KnownEffect
from hati.knowledge.information import MeasuredScreening, by_information
from hati.knowledge.representatives import FEWEST_REPRESENTATIVES, REPRESENTATIVES, representative_suite
from hati.knowledge.variation import FEWEST_LEFT, SumsOfSquares, Variation, variation
from hati.knowledge.warm_up import KnownWarmUp, warm_up_of

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
