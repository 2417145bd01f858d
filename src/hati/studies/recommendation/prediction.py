"""Predictions for configurations that were not run, and the search for the best ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from math import prod

import numpy as np
from msgspec import Struct

from hati.core import Better, Configuration, FloatArray
from hati.design import INACTIVE, Candidates, Levels, Model, Reach, candidates, from_levels, levels
from hati.design.coding import MOST_LISTED
from hati.space import Space
from hati.stats import Term, forward_selection
from hati.studies.recommendation.better_settings import ChangeScale, Findings
from hati.studies.screening.model import model_terms

_TINY = 1e-9


class Prediction(Struct, frozen=True, eq=False):
    """A fitted model of a metric by the options that matter: ``movable`` are their positions.

    Only terms of movable options predict: effects of other options were not shown.
    """

    findings: Findings
    model: Model
    coefficients: FloatArray

    @property
    def movable(self) -> frozenset[int]:
        """The options in an important effect."""
        return frozenset(option for term in self.model.terms for option in term)

    def values(self, rows: Levels) -> FloatArray:
        """The predictions for configurations, on the deciding scale."""
        return np.asarray(self.model.matrix(rows) @ self.coefficients)

    def in_unit(self, row: Levels) -> float:
        """The prediction for a configuration, in the metric's unit; from logarithms the geometric mean."""
        value = float(self.values(row[None, :])[0])
        return math.exp(value) if self.findings.scale is ChangeScale.LOG else value

    def gains(self, rows: Levels, baseline: Levels) -> FloatArray:
        """The gains over the baseline: differences of logarithms, or fractions of the mean size; good above 0."""
        found = np.asarray(self.values(rows) - self.values(baseline[None, :])[0])
        if self.findings.scale is ChangeScale.RAW:
            found = found / (self.findings.typical or 1.0)
        return -found if self.findings.metric.better is Better.LOWER else found


def predict(findings: Findings, space: Space) -> Prediction:
    """Fit the important effects, their options' main effects, and the offered effects that forward selection adds.

    The fit is by least squares on the deciding scale; each repetition on each machine has a mean of its own, and there
    is a linear trend over the order of runs if this is known.
    """
    sizes = tuple(len(option.settings) for option in space.options)
    places = {name: place for place, name in enumerate(space.names)}

    def term(options: tuple[str, ...]) -> Term:
        return tuple(sorted(places[name] for name in options))

    movable = {name for options in findings.important for name in options}
    needed: dict[Term, None] = dict.fromkeys((places[name],) for name in space.names if name in movable)
    needed |= dict.fromkeys(term(options) for options in findings.important)
    known = dict.fromkeys(sorted({*needed, *map(term, findings.offered)}, key=lambda t: (len(t), t)))
    offered = Model(sizes, tuple(known))
    blocks = findings.repetitions
    terms = model_terms(offered, levels(findings.configurations, space), blocks, findings.order)
    chosen = tuple(dict.fromkeys([*needed, *forward_selection(terms, findings.decided)]))
    fitted = _least_squares(np.hstack([terms.always, *(terms.columns[t] for t in chosen)]), findings.decided)
    predicting = tuple(t for t in chosen if all(space.names[option] in movable for option in t))
    starts = np.cumsum([terms.always.shape[1], *(terms.columns[t].shape[1] for t in chosen)])
    parts = [
        fitted[start:stop] for t, start, stop in zip(chosen, starts[:-1], starts[1:], strict=True) if t in predicting
    ]
    centre = float(fitted[: len(np.unique(blocks))].mean())
    return Prediction(findings, Model(sizes, predicting), np.concatenate([[centre], *parts]))


def _least_squares(columns: FloatArray, values: FloatArray) -> FloatArray:
    """The least-squares solution; of minimum norm if columns are linearly dependent."""
    return np.asarray(np.linalg.pinv(columns, rcond=_TINY) @ values)


Score = Callable[[Levels], FloatArray]
"""Returns the quality of configurations, shape (configurations,)."""

_SAMPLE = 4_000
_STARTS = 5
_STEPS = 200


def baseline(space: Space, among: Sequence[Configuration], rng: np.random.Generator) -> Configuration:
    """The default configuration, or else the valid one (of ``among``, if given) that differs in the fewest settings."""
    default = space.default
    if space.valid(default) and (not among or default in among):
        return default
    others = among or from_levels(candidates(space, rng).levels, space)
    return min(others, key=lambda other: _differences(other, default))


def pool(
    space: Space, start: Configuration, movable: frozenset[int], scores: Sequence[Score], rng: np.random.Generator
) -> Levels:
    """The start, then all configurations that may be best: all valid ones if they can be listed.

    If all combinations are valid, options that are not ``movable`` stay as they are. If there are too many, the
    configurations are local optima for each score, found from the start and the best of a uniform sample by changing
    one option at a time.
    """
    row = levels([start], space)
    among = candidates(space, rng)
    if among.reach is Reach.LISTED:
        return np.vstack([row, among.levels])
    moving = sorted(movable)
    if among.reach is Reach.FREE and prod(among.sizes[option] for option in moving) <= MOST_LISTED:
        return np.vstack([row, _combined(row[0], moving, among.sizes)])
    drawn = np.vstack([row, among.levels if len(among.levels) else among.draw(_SAMPLE, rng)])
    return np.unique(np.vstack([row, *(_climbed(among, drawn, score) for score in scores)]), axis=0)


def to_set(row: Levels, start: Levels, space: Space) -> tuple[str, ...]:
    """The options that have to be set to get from one configuration to another.

    An option that becomes active with its default need not be set, nor one that becomes inactive.
    """
    return tuple(space.names[option] for option in np.flatnonzero(_moved(row[None, :], start, space)[0]))


def changes(rows: Levels, start: Levels, space: Space) -> FloatArray:
    """The number of options that have to be set for each configuration, shape (configurations,)."""
    return np.asarray(_moved(rows, start, space).sum(axis=1), dtype=np.float64)


def _moved(rows: Levels, start: Levels, space: Space) -> Levels:
    defaults = np.array([option.position(option.default) for option in space.options], dtype=np.int16)
    usual = np.where(start == INACTIVE, defaults, start)
    return np.asarray((rows != INACTIVE) & (rows != usual))


def _combined(row: Levels, moving: Sequence[int], sizes: Sequence[int]) -> Levels:
    combinations = np.array(list(product(*(range(sizes[option]) for option in moving))), dtype=np.int16)
    found = np.repeat(row[None, :], len(combinations), axis=0)
    found[:, moving] = combinations.reshape(len(combinations), len(moving))
    return found


def _climbed(among: Candidates, drawn: Levels, score: Score) -> Levels:
    best = np.argsort(-score(drawn), kind="stable")[: _STARTS - 1]
    return np.array([_top(among, drawn[int(place)], score) for place in dict.fromkeys([0, *best.tolist()])])


def _top(among: Candidates, row: Levels, score: Score) -> Levels:
    """The local optimum reached from a row: no other setting of one option is better."""
    value = float(score(row[None, :])[0])
    for _ in range(_STEPS):
        [near] = among.neighbours(row[None])
        found = score(near) if len(near) else np.empty(0)
        if not len(found) or float(found.max()) <= value:
            break
        row, value = near[int(np.argmax(found))], float(found.max())
    return row


def _differences(one: Configuration, other: Configuration) -> int:
    return len(set(one.items()) ^ set(other.items()))
