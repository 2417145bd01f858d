"""Relations that are looked at after every run or pair of runs, and decided as soon as they can be."""

from __future__ import annotations

from typing import Protocol

from hati.core import InputError, replace
from hati.logic.interpret.alone import Alone
from hati.logic.interpret.evidence import Evidence
from hati.logic.interpret.judging import (
    OneSided,
    Test,
    detectable_of,
    estimate_of,
    interval_of,
    p_values,
    scale_of,
    verdict_of,
)
from hati.logic.interpret.measured import Measured
from hati.logic.interpret.pairs import Pairs
from hati.logic.interpret.relation import Bounds, Limit, Relation, Sign
from hati.logic.interpret.unseen import fewest_alone
from hati.stats import fewest_signs


class Looked(Test, Protocol):
    """Tests of looks from ``fewest`` on, up to ``size``."""

    @property
    def fewest(self) -> int:
        """Runs of a side before the first look."""
        ...

    @property
    def size(self) -> int:
        """Runs of a side that there are."""
        ...

    def at(self, size: int) -> OneSided:
        """The tests of all looks up to so many runs."""
        ...

    def runs_needed(self, bounds: Bounds, alpha: float) -> int | None:
        """Runs of a side that decide with 80 % power, if means and deviations hold."""
        ...


def decide_early(left: Measured, right: Measured | Limit, relation: Relation) -> Evidence:
    """What runs show of a relation, looked at after each pair: the n-th run of the left with that of the right.

    The bounds are those of ``decide``, and the verdict and its p-values are of the first look that gives one: with the
    truth on a bound HOLDS and VIOLATED each are given in at most alpha of all campaigns, however long they go on. Pairs
    are judged by the anytime-valid t-test of ``anytime_e_values``, runs beside a limit, of which the skewness does not
    cancel, by ``skewed_e_values``; looks begin with ``fewest_pairs`` and ``fewest_alone``. The rest is of all runs. A
    history is not used.

    Raises:
        InputError: for ``=`` without a margin, and for sides with different numbers of runs.
    """
    looked, right_mean = _looked(left, right, relation), _right_mean(right)
    told = glance_early(left, right, relation)
    if looked.size < 2:
        return replace(told, runs_needed=looked.fewest)
    return replace(
        told,
        interval=interval_of(looked, float(left.means.mean()), right_mean, told.scale, relation.alpha),
        detectable=detectable_of(looked, relation, right_mean, told.scale),
        runs_needed=_needed(looked, relation, right_mean),
    )


def glance_early(left: Measured, right: Measured | Limit, relation: Relation) -> Evidence:
    """The verdict of ``decide_early`` with its p-values, without interval, detectable and runs needed: sooner told.

    Raises:
        InputError: as ``decide_early``.
    """
    looked, limit = _looked(left, right, relation), isinstance(right, Limit)
    sizes = looked.size, 0 if limit else looked.size
    means = float(left.means.mean()), _right_mean(right)
    scale = scale_of(*means, sizes)
    size = _first_decided(looked, relation, means[1]) or looked.size
    holds, violated = p_values(looked.at(size), relation.bounds(means[1]))
    return Evidence(
        verdict=verdict_of(holds, violated, relation.alpha),
        scale=scale,
        estimate=estimate_of(*means, scale),
        runs=sizes,
        p_holds=holds,
        p_violated=violated,
        remark="" if looked.size >= looked.fewest else f"fewer than {looked.fewest} {'runs' if limit else 'pairs'}",
    )


def pairs_to_decide(left: Measured, right: Measured | Limit, relation: Relation) -> int | None:
    """After how many runs of a side ``decide_early`` first has a verdict; None where it has none.

    Raises:
        InputError: for ``=`` without a margin, and for sides with different numbers of runs.
    """
    return _first_decided(_looked(left, right, relation), relation, _right_mean(right))


def fewest_pairs(alpha: float) -> int:
    """Pairs before the first look: as many as that their signs alone can be significant, 7 at 1 %."""
    return fewest_signs(2.0 * alpha)


def _first_decided(looked: Looked, relation: Relation, right: float) -> int | None:
    """p-values never grow from look to look, so that none decides where the last does not."""
    bounds = relation.bounds(right)

    def decides(size: int) -> bool:
        return min(p_values(looked.at(size), bounds)) <= relation.alpha

    least, most = looked.fewest, looked.size
    if most < least or not decides(most):
        return None
    while least < most:
        middle = (least + most) // 2
        least, most = (least, middle) if decides(middle) else (middle + 1, most)
    return most


def _looked(left: Measured, right: Measured | Limit, relation: Relation) -> Looked:
    if relation.sign is Sign.EQUAL and not relation.margin:
        raise InputError("equality can be shown only with a margin", fix="write a = b +- 2%")
    if isinstance(right, Limit):
        return Alone(left.means, right.value, fewest_alone(relation.alpha))
    if len(left.runs) != len(right.runs):
        raise InputError(f"{len(left.runs)} runs and {len(right.runs)} are not pairs", fix="measure both sides in turn")
    return Pairs(left.means, right.means, fewest_pairs(relation.alpha))


def _right_mean(right: Measured | Limit) -> float:
    return right.value if isinstance(right, Limit) else float(right.means.mean())


def _needed(looked: Looked, relation: Relation, right: float) -> int | None:
    """No fewer than there are, but where fewer have decided."""
    decided = _first_decided(looked, relation, right)
    if decided is not None:
        return decided
    found = looked.runs_needed(relation.bounds(right), relation.alpha)
    return None if found is None else max(found, looked.size + 1)
