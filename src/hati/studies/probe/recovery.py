"""The self-test of detectors: an injected truth, compared with the property that is detected."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from hati.studies.probe.finding import ProbeVerdict, Property


class RecoveryOutcome(StrEnum):
    """The outcome for an injected truth."""

    RECOVERED = "recovered"
    DISTURBED = "disturbed"
    MISSED = "missed"
    REFUSED = "refused"


class Recovery(Struct, frozen=True):
    """An injected ``truth`` and what was detected, in one unit; ``tolerance`` is a factor less one.

    ``detected`` is None if nothing was; ``reason`` says why, or why the machine refused the injection.
    """

    name: str
    truth: float
    unit: str
    tolerance: float
    outcome: RecoveryOutcome
    detected: float | None = None
    reason: str = ""


def recovered(name: str, truth: float, tolerance: float, found: Property | None) -> Recovery:
    """Compare: recovered within the tolerance; else disturbed if the detector reports it, and missed if not."""
    if found is None:
        return Recovery(name, truth, "", tolerance, RecoveryOutcome.MISSED, None, "the experiment has no such property")
    value = found.value
    if value is not None and truth / (1.0 + tolerance) <= value <= truth * (1.0 + tolerance):
        return Recovery(name, truth, found.unit, tolerance, RecoveryOutcome.RECOVERED, value)
    doubted = found.verdict is not ProbeVerdict.MEASURED
    outcome = RecoveryOutcome.DISTURBED if doubted else RecoveryOutcome.MISSED
    return Recovery(name, truth, found.unit, tolerance, outcome, value, found.reason)


def not_injected(name: str, truth: float, unit: str, tolerance: float, reason: str) -> Recovery:
    """The outcome for a truth that the machine does not permit to inject."""
    return Recovery(name, truth, unit, tolerance, RecoveryOutcome.REFUSED, None, reason)
