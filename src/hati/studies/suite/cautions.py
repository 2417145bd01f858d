"""What to be told before a suite's numbers are relied on."""

from __future__ import annotations

from collections.abc import Sequence

from hati.studies.suite.conclusion import Agreement, StratumEstimate
from hati.studies.suite.measured import Measured
from hati.studies.suite.planned import SuitePlan

_LOW_POWER = 0.8
_ALPHA = 0.05


def warnings(
    wanted: SuitePlan,
    strata: Sequence[StratumEstimate],
    single: int,
    planned: int,
    found: Measured,
    beside: Measured,
    against: Agreement | None,
) -> tuple[str, ...]:
    """Sentences, each with its remedy; ``single`` strata of several configurations have one value only."""
    told = [
        _left_out(wanted),
        _missing(strata, found),
        _single(single, len(strata)),
        _unfinished(planned, found, beside),
        _weak(against),
    ]
    return tuple(sentence for sentence in told if sentence)


def _left_out(wanted: SuitePlan) -> str:
    if not wanted.left_out:
        return ""
    all_ = f"{wanted.including} configurations (--runs) include all" if wanted.including else "more --runs include more"
    return f"important too, but left out of the strata for want of runs: {', '.join(wanted.left_out)}; {all_}"


def _missing(strata: Sequence[StratumEstimate], found: Measured) -> str:
    empty = [stratum for stratum in strata if stratum.estimate is None]
    if not empty:
        return ""
    share = sum(s.weight for s in empty) / sum(s.weight for s in strata)
    names = ", ".join(str(stratum.setting) or "all" for stratum in empty[:3])
    return (
        f"{len(empty)} of {len(strata)} strata ({names}{', ...' if len(empty) > 3 else ''}) have no value, "
        f"{100 * share:.3g} % of the space: the estimates are for the rest; {_reason(found)}"
    )


def _reason(found: Measured) -> str:
    return "see why their runs failed" if found.failed else "a larger budget makes their runs"


def _single(single: int, strata: int) -> str:
    if not single:
        return ""
    return (
        f"{single} of {strata} strata {'has' if single == 1 else 'have'} one value only, whose error is "
        f"{'not known' if strata == 1 else 'judged by other strata'}: "
        f"give --runs {2 * strata} or more, or fewer --options; or see why runs failed"
    )


def _unfinished(planned: int, found: Measured, beside: Measured) -> str:
    made = int(found.runs.sum() + beside.runs.sum()) + found.failed + beside.failed
    if made >= planned:
        return ""
    return f"{made} of {planned} runs were made before the budget was spent: give a larger --budget"


def _weak(against: Agreement | None) -> str:
    if against is None or against.mann_whitney.power >= _LOW_POWER or against.mann_whitney.p_value < _ALPHA:
        return ""
    return (
        f"the Mann-Whitney test finds a shift of the equivalence margin with a probability of "
        f"{against.mann_whitney.power:.2g} only: that it found none shows nothing; rely on the equivalence test"
    )
