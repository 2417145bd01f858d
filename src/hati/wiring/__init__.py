"""The only place that chooses engines, stores and readers: studies made to run on this machine.

What the command line does is here as functions: open a workplace, then measure, screen, or conclude from the store.
"""

from hati.wiring.measuring import measure, rehearse_measurement
from hati.wiring.rehearsal import Rehearsal
from hati.wiring.screening import (
    PreparedScreening,
    ScreeningRequest,
    prepare_screening,
    rehearse,
    screen,
)
from hati.wiring.stored import conclude_stored
from hati.wiring.workplace import Announce, Workplace, stored, workplace

__all__ = [
    "Announce",
    "PreparedScreening",
    "Rehearsal",
    "ScreeningRequest",
    "Workplace",
    "conclude_stored",
    "measure",
    "prepare_screening",
    "rehearse",
    "rehearse_measurement",
    "screen",
    "stored",
    "workplace",
]
