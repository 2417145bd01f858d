"""The settings that may be better than the default's, by gains estimated from a screening, and their predictions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from itertools import product
from math import prod

import numpy as np
from msgspec import Struct

from hati.core import Better, Configuration, FloatArray, InputError, Metric, Setting
from hati.design import INACTIVE, Candidates, Levels, Model, Reach, from_levels, levels
from hati.design import candidates as design_candidates
from hati.design.coding import MOST_LISTED
from hati.formula import Comparator
from hati.space import Space, narrowed
from hati.space.constraint import Literal, Name, TermComparison
from hati.stats import Index, ModelTerms, Term, cell_columns, forward_selection, t_quantile
from hati.studies.screening.model import always_there, model_terms
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation
from hati.studies.screening.runs import model_units

Options = tuple[str, ...]


class ChangeScale(StrEnum):
    """The scale on which changes are reported: ratios, or differences as fractions of the mean size."""

    LOG = "log"
    RAW = "raw"


class Findings(Struct, frozen=True, eq=False):
    """A screening's runs and its findings.

    ``values`` holds one value for each of the ``configurations``, in the order of the runs, in the metric's unit.
    ``important`` are the important effects, by their options; ``offered`` are all effects that may predict;
    ``relevant`` is the fraction below which a change does not matter. ``machines`` are those of the runs, from 0,
    ``blocks`` are as in ``additive_blocks``, and ``order`` the places in time, None if unknown. ``dominating`` is the
    option that explains most of the variance, if one does.
    """

    metric: Metric
    scale: ChangeScale
    configurations: tuple[Configuration, ...]
    values: FloatArray
    important: tuple[Options, ...]
    offered: tuple[Options, ...]
    relevant: float
    blocks: Index | None = None
    machines: Index | None = None
    order: FloatArray | None = None
    dominating: str = ""

    def __post_init__(self) -> None:
        if len(self.values) != len(self.configurations) or not len(self.values):
            raise InputError(f"a prediction of {self.metric.name} needs one value for each of its runs")
        known = [each for each in (self.blocks, self.machines, self.order) if each is not None]
        if any(len(each) != len(self.values) for each in known):
            raise InputError("runs have one block, one machine and one place in time each")
        if self.scale is ChangeScale.LOG and np.min(self.values) <= 0.0:
            raise InputError(f"{self.metric.name} has values without a logarithm")

    @property
    def decided(self) -> FloatArray:
        """The values on the scale."""
        return np.log(self.values) if self.scale is ChangeScale.LOG else self.values

    @property
    def typical(self) -> float:
        """The mean size of a value in its unit."""
        return float(np.mean(np.abs(self.values)))

    @property
    def repetitions(self) -> Index:
        """The block of each run; if unknown, the number of earlier runs of its configuration."""
        if self.blocks is not None:
            return self.blocks
        seen = Counter[Configuration]()
        found = []
        for configuration in self.configurations:
            found.append(seen[configuration])
            seen[configuration] += 1
        return np.array(found, dtype=np.intp)


Flip = tuple[str, Setting]
"""An option and another setting than the start's."""

_SAME = 1e-6


class Gains(Struct, frozen=True, eq=False):
    """Estimated gains, shape (flips,), above 0 if they are good, with their standard errors.

    They are differences of logarithms, or fractions of the mean size. The error of a gain that the runs do not
    determine is infinite; all are if ``df``, the residual degrees of freedom, is zero.
    """

    estimates: FloatArray
    errors: FloatArray
    df: int

    def bounds(self, confidence: float) -> FloatArray:
        """Each gain's upper one-sided limit."""
        return self.estimates + (t_quantile(confidence, self.df) if self.df else 1.0) * self.errors

    @property
    def order(self) -> list[int]:
        """The places of the flips, the most promising first: by the gain plus its error, if that is finite."""
        promising = self.estimates + np.where(np.isfinite(self.errors), self.errors, 0.0)
        return [int(place) for place in np.argsort(-promising, kind="stable")]


def gains(space: Space, findings: Findings, start: Configuration, flips: Sequence[Flip]) -> Gains:
    """The gain of each flip at the start, by the model of the main effects and the important interactions.

    If an option dominates, all interactions with it are in the model: compared with its effect they are small, and so
    not shown, but the gains at its default may be twice their averages. Machines and repetitions are blocks, and a
    linear trend over the order of runs is in the model, as in the screening. For gains that the runs do not determine,
    the smallest ones are taken: that of a setting that was never run is zero if its option has two settings.
    """
    model = _model(space, findings)
    usual = model.columns(levels([start], space))
    fit = _fit(model, usual, findings, space)
    flipped = model.columns(levels([space.canonical({**start, name: setting}) for name, setting in flips], space))
    weights = np.zeros((len(flips), fit.columns.shape[1]))
    for term, place in fit.places.items():
        weights[:, place] = flipped[term] - usual[term]
    sign = -1.0 if findings.metric.better is Better.LOWER else 1.0
    size = 1.0 if findings.scale is ChangeScale.LOG else findings.typical or 1.0
    return Gains(sign / size * (weights @ fit.coefficients), _errors(fit, weights) / size, fit.df)


def _model(space: Space, findings: Findings) -> Model:
    places = {name: place for place, name in enumerate(space.names)}
    important = [named for named in findings.important if len(named) > 1]
    if findings.dominating:
        important += [(findings.dominating, name) for name in places if name != findings.dominating]
    interactions = (tuple(sorted(places[name] for name in named)) for named in important)
    terms = dict.fromkeys([*((place,) for place in range(len(places))), *interactions])
    return Model(tuple(len(option.settings) for option in space.options), tuple(terms))


def _fit(model: Model, usual: Mapping[Term, FloatArray], findings: Findings, space: Space) -> ModelFit:
    """The fit of the model; columns are differences from the start's, so that minimum norm gives the smallest gains.

    Means of configurations are adjusted for the blocks of their runs, and so are their places in time.
    """
    of_runs = levels(findings.configurations, space)
    units = model_units(model, of_runs, findings.repetitions, findings.machines, findings.order)
    columns = {term: own - usual[term] for term, own in model.columns(units.levels).items()}
    terms = ModelTerms(always_there(units.blocks, units.order), columns)
    return ModelFit.of(terms, model.terms, ValidPopulation.unconstrained(model.sizes), units.values(findings.decided))


def _errors(fit: ModelFit, weights: FloatArray) -> FloatArray:
    """The standard error of each combination of coefficients; infinite if the values do not determine it."""
    if fit.variance is None:
        return np.full(len(weights), math.inf)
    squares = np.clip(np.einsum("ij,jk,ik->i", weights, fit.inverse, weights), 0.0, None)
    determined = np.isclose(weights @ fit.estimable, weights, atol=_SAME).all(axis=1)
    return np.where(determined, np.sqrt(fit.variance * squares), math.inf)


MOST_CANDIDATES = 12
_DOUBT = 0.95
"""A setting is a candidate unless its gain is below the relevant size with this one-sided confidence."""

Allowed = Mapping[str, tuple[Setting, ...]]
"""The settings that may be recommended, for the options that are restricted."""


class Candidate(Struct, frozen=True):
    """A setting of an option, the configuration in which it is tried, and its estimated ``gain`` at the baseline.

    The gain is a difference of logarithms or a fraction of the mean size, above 0 if it is good.
    """

    option: str
    setting: Setting
    configuration: Configuration
    gain: float


def candidates(space: Space, findings: Findings, start: Configuration, allowed: Allowed) -> tuple[Candidate, ...]:
    """The settings whose gain at the start may be relevant, the most promising first.

    The gain is estimated at the start, not as an average over settings that nobody uses. If the screening does
    not determine it, as for a setting that was never run, it may be relevant.
    """
    flips = [
        (option.name, setting)
        for option in space.options
        if option.name in start
        for setting in option.settings
        if setting != start[option.name] and setting in allowed.get(option.name, option.settings)
    ]
    estimated = gains(space, findings, start, flips)
    bounds = estimated.bounds(_DOUBT)
    relevant = float(np.log1p(findings.relevant)) if findings.scale is ChangeScale.LOG else findings.relevant
    found: list[Candidate] = []
    for place in estimated.order:
        if bounds[place] > relevant and len(found) < MOST_CANDIDATES:
            configuration = reached(space, start, dict([flips[place]]))
            if configuration is not None and is_allowed(configuration, start, allowed):
                found.append(Candidate(*flips[place], configuration, float(estimated.estimates[place])))
    return tuple(found)


def is_allowed(configuration: Configuration, start: Configuration, allowed: Allowed) -> bool:
    """Whether a configuration differs from the start only by settings that may be recommended."""
    return all(
        setting in allowed.get(name, (setting,))
        for name, setting in configuration.items()
        if start.get(name) != setting
    )


def reached(space: Space, start: Configuration, settings: Mapping[str, Setting]) -> Configuration | None:
    """The start with these settings, or the nearest valid configuration if that is not valid; None without one."""
    try:
        direct = space.canonical({**start, **settings})
        if space.valid(direct):
            return direct
        wanted = [TermComparison(Name(name), Comparator.EQUAL, Literal(setting)) for name, setting in settings.items()]
        return narrowed(space, wanted).default
    except InputError:
        return None


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

    The fit is by least squares on the deciding scale, with the effects of repetitions and machines, and a linear trend
    over the order of runs if this is known.
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
    cells = cell_columns(blocks)
    centre = float((cells @ fitted[: cells.shape[1]]).mean())
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
    others = among or from_levels(design_candidates(space, rng).levels, space)
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
    among = design_candidates(space, rng)
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
