"""What one should know before one trusts a comparison on this machine."""

from __future__ import annotations

from hati.core.wording import listed
from hati.studies.audit.conclusion import Audit

_LEVEL = 0.05
_DIRECTIONS = 0.01
_COARSER = 1.25
_FAR = 0.005
"""Three rates and more are looked at: an audit should not cry wolf itself."""


def cautions(found: Audit) -> tuple[str, ...]:
    """In sentences; what was measured is beyond its level by more than chance."""
    return tuple(
        text for text in (_wolf(found), _one_sided(found), _drift(found), _coarse(found), _missing(found)) if text
    )


def _wolf(found: Audit) -> str:
    measured = [
        (found.false_alarms, "comparisons of equal halves end in an alarm"),
        (found.uncorrected, "comparisons of equal halves have a p-value up to alpha"),
        (found.any_alarm, "splits end in an alarm of some benchmark"),
    ]
    if found.clusters is not None:
        measured.append((found.clusters.alarms, "comparisons report a change of a cluster"))
        measured.append((found.clusters.misplaced, "comparisons of shifted halves find another change of clusters"))
    for rate, what in measured:
        if rate.p_above(found.alpha) <= _FAR:
            return (
                f"this cries wolf: {_percent(rate.estimate)} of {what}, where {_percent(found.alpha)} should; look at"
                " the benchmarks with alarms, and compare with more runs, another statistic or a smaller alpha"
            )
    return ""


def _one_sided(found: Audit) -> str:
    sides = found.directions
    if sides.p_value > _DIRECTIONS:
        return ""
    return (
        f"alarms are one-sided: {sides.slower} slower and {sides.faster} faster, where both are as likely; do not trust"
        " a comparison that does so"
    )


def _drift(found: Audit) -> str:
    time = found.in_time
    if time.p_value > _LEVEL and time.alarms.p_above(found.alpha) > _FAR:
        return ""
    alarms = f"{time.slower} slower and {time.faster} faster of {len(found.rows)}"
    return (
        f"earlier and later runs differ more than random halves do ({alarms}): what is measured drifts, and of two"
        " campaigns one after the other that would pass for a change; measure what is compared alternately"
    )


def _coarse(found: Audit) -> str:
    """Another statistic finds much smaller changes in the same runs."""
    wanted = {each.choice.statistic for each in found.recommended}
    best = next((each for each in found.by_statistic if wanted == {each.statistic}), None)
    if best is None or best.detectable is None or str(best.statistic) == found.statistic:
        return ""
    if found.detectable is not None and found.detectable <= _COARSER * best.detectable:
        return ""
    here = "none" if found.detectable is None else _percent(found.detectable)
    return (
        f"the {best.statistic.title} of runs finds a change of {_percent(best.detectable)}, this comparison {here}:"
        f" compare with --statistic {best.statistic}, or give these runs as --history"
    )


def _missing(found: Audit) -> str:
    if not found.left_out:
        return ""
    names = [sample.benchmark for sample in found.left_out]
    return f"with fewer than 4 runs, which cannot be split, these are left out: {listed(names, 5)}"


def _percent(fraction: float) -> str:
    return f"{100.0 * fraction:.3g} %"
