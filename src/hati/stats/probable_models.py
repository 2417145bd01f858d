"""Probabilities of sets of effects, and the sets that the data cannot distinguish (Occam's window)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, InputError
from hati.stats.linear_models import Index
from hati.stats.terms import Term

Mask = NDArray[np.bool_]


class HeredityPrior:
    """Prior probabilities of effects given the main effects (Chipman 1996).

    A main effect is active with probability ``activity``. So is an interaction if the main effects of all its options
    are active; each one that is not multiplies its probability by ``heredity``, and so does every order above the
    second.

    Raises:
        InputError: for a probability outside (0, 1/2], or a factor outside (0, 1].
    """

    def __init__(self, terms: Sequence[Term], activity: float, heredity: float) -> None:
        if not (0.0 < activity <= 0.5 and 0.0 < heredity <= 1.0):
            raise InputError("an effect's prior probability is above 0 and at most 1/2, heredity above 0 and at most 1")
        options = 1 + max((max(term) for term in terms), default=0)
        self._parents = np.zeros((len(terms), options))
        for place, term in enumerate(terms):
            if len(term) > 1:
                self._parents[place, list(term)] = 1.0
        orders = np.array([len(term) for term in terms])
        self._sizes = self._parents.sum(axis=1)
        self._higher = np.maximum(orders - 2, 0)
        self._main = np.array([term[0] if len(term) == 1 else -1 for term in terms])
        steps = 1 + 2 * int(orders.max(initial=1))
        rates = activity * heredity ** np.arange(steps, dtype=np.float64)
        self._inert = np.log1p(-rates)
        self._odds = np.log(rates) - self._inert

    def logarithm(self, active: Mask) -> float:
        """The logarithm of the probability of a set of effects; ``active`` has shape (terms,)."""
        steps = self._steps(active)
        return float(self._inert[steps].sum() + self._odds[steps][active].sum())

    def additions(self, active: Mask) -> FloatArray:
        """The logarithms for the set with each effect added, shape (terms,); unchanged for effects already in it."""
        steps = self._steps(active)
        own = float(self._inert[steps].sum() + self._odds[steps][active].sum())
        found = own + np.where(active, 0.0, self._odds[steps])
        mains = np.flatnonzero((self._main >= 0) & ~active)
        fewer = steps[None, :] - self._parents[:, self._main[mains]].T.astype(np.intp)
        with_main = self._inert[fewer].sum(axis=1) + (self._odds[fewer] * active).sum(axis=1)
        found[mains] = with_main + self._odds[0]
        return np.asarray(found)

    def _steps(self, active: Mask) -> NDArray[np.intp]:
        present = np.zeros(self._parents.shape[1])
        present[self._main[active & (self._main >= 0)]] = 1.0
        return np.asarray(self._sizes - self._parents @ present + self._higher, dtype=np.intp)


SHIFT = 10.0
"""The prior size of shifts between blocks, in standard deviations of a run: hardly anything is excluded."""


class Moments(Struct, frozen=True, eq=False):
    """The sufficient statistics of runs for linear models: sums of products without the mean and the blocks.

    ``gram`` has shape (columns, columns), ``products`` (columns,) are the columns' with the values, ``total`` is the
    values' sum of squares, ``runs`` their number.
    """

    gram: FloatArray
    products: FloatArray
    total: float
    runs: int


def moments(columns: FloatArray, values: FloatArray, shifts: FloatArray | None = None, shift: float = SHIFT) -> Moments:
    """Take the mean out of runs, and what shifts between blocks explain.

    The mean has a flat prior; the coefficients of ``shifts`` are normal with ``shift`` times the standard deviation
    of a run.

    Args:
        columns: those of all terms of all models, shape (runs, columns).
        values: one per run.
        shifts: columns that every model has, shape (runs, any).
        shift: their prior standard deviation, in standard deviations of a run.

    Raises:
        InputError: for fewer than two runs, or values that are not one per run.
    """
    runs = len(values)
    if runs < 2 or columns.shape[0] != runs:
        raise InputError(f"{runs} values of {columns.shape[0]} runs do not determine models")
    free = columns - columns.mean(axis=0)
    own = values - values.mean()
    if shifts is not None and shifts.shape[1]:
        centred = shifts - shifts.mean(axis=0)
        system = centred.T @ centred + np.eye(centred.shape[1]) / shift**2
        fitted = np.linalg.solve(system, centred.T @ np.column_stack([free, own]))
        gram = free.T @ free - (free.T @ centred) @ fitted[:, :-1]
        products = free.T @ own - (free.T @ centred) @ fitted[:, -1]
        total = float(own @ own - (own @ centred) @ fitted[:, -1])
        return Moments(gram, products, total, runs)
    return Moments(free.T @ free, free.T @ own, float(own @ own), runs)


def log_marginals(found: Moments, chosen: Index, gamma: float, floor: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """The logarithm of p(values | model), up to a constant that all models share, and each model's residual.

    Coefficients are normal around 0 with ``gamma`` times the standard deviation of a run (Box and Meyer 1993,
    equation 3; the same as gamma^-t |G + X'X|^-1/2 (S + b'Gb)^-(n-1)/2 there).

    Args:
        found: the moments of the runs.
        chosen: the columns of each model, shape (models, columns of a model).
        gamma: the size of effects.
        floor: a sum of squares below which residuals are not distinguished.

    Returns:
        Two arrays of shape (models,): the logarithms, and S + b'Gb.
    """
    models, size = chosen.shape
    left = np.full(models, found.total)
    logarithm = np.zeros(models)
    if size:
        system = found.gram[chosen[:, :, None], chosen[:, None, :]] + np.eye(size) / gamma**2
        factor = np.linalg.cholesky(system)
        solved = np.linalg.solve(factor, found.products[chosen][:, :, None])[:, :, 0]
        left = left - np.einsum("mc,mc->m", solved, solved)
        diagonal = np.diagonal(factor, axis1=1, axis2=2)
        logarithm = -size * np.log(gamma) - np.log(diagonal).sum(axis=1)
    left = np.maximum(left, 0.0) + floor
    return logarithm - (found.runs - 1) / 2.0 * np.log(left), left


BOUND = 20.0
ACTIVITY = 0.05
HEREDITY = 1.0 / 3.0
"""With this value the heredity of a pair alone does not give odds beyond ``BOUND``: the runs decide."""
GAMMAS = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 35.0, 60.0, 100.0)
_FIRST_GAMMA = 2.0
_EXPANDED = 60
_CLIMBS = 60
_PATH = 16

Effects = tuple[int, ...]
"""A model: the positions of its effects among the terms, ascending."""


class EffectModels(Struct, frozen=True, eq=False):
    """The models within a factor of the most probable one, which comes first.

    A model that is more probable without one of its effects is left out (after Madigan and Raftery 1994).
    ``log_odds``, shape (models,), are against the first; ``variances`` are those of a run. ``gamma`` is the size of
    coefficients in standard deviations of a run; ``complete`` is False where the search ended before all neighbours
    were seen.
    """

    models: tuple[Effects, ...]
    log_odds: FloatArray
    variances: FloatArray
    gamma: float
    complete: bool

    @property
    def probabilities(self) -> FloatArray:
        """The probabilities of the models, of sum 1, shape (models,)."""
        weights = np.exp(self.log_odds)
        return np.asarray(weights / weights.sum())


def likely_models(
    found: Moments,
    terms: Sequence[Term],
    owners: Index,
    *,
    bound: float = BOUND,
    activity: float = ACTIVITY,
    heredity: float = HEREDITY,
    gamma: float | None = None,
    floor: float = 0.0,
    starts: Sequence[Effects] = (),
) -> EffectModels:
    """The sets of effects that explain the runs about as well as the best one does.

    Probabilities are those of Box and Meyer (1993), but with each effect individually in a model or not, so that
    interactions between the same active options are distinguishable. The search adds, drops and exchanges effects to
    find the best model, and finds the others among its neighbours and theirs.

    Args:
        found: the moments of the terms' columns.
        terms: all candidate effects.
        owners: the position among ``terms`` that each column belongs to.
        bound: the odds against a model at which it is dropped.
        activity: the prior probability of an effect, see ``HeredityPrior``.
        heredity: see ``HeredityPrior``.
        gamma: the size of coefficients in standard deviations of a run; None for the most likely of ``GAMMAS``.
        floor: a sum of squares below which residuals are not distinguished.
        starts: further models to start from, such as those that fewer runs left.

    Raises:
        InputError: for a bound that is not above 1.
    """
    if not bound > 1.0:
        raise InputError(f"a model is given up at odds above 1, not {bound}")
    prior = HeredityPrior(terms, activity, heredity)
    size = _FIRST_GAMMA if gamma is None else gamma
    search = _Search(found, prior, _members(owners, len(terms)), size, floor)
    seeds = [*search.path(), *starts]
    best = search.climb(max(seeds, key=search.score))
    if gamma is None:
        searches = [search.at(other) for other in GAMMAS]
        search = max(searches, key=lambda other: max(other.score(model) for model in (best, *seeds)))
        best = search.climb(max((best, *seeds), key=search.score))
    models, complete = search.window(float(np.log(bound)))
    scores = np.array([search.score(model) for model in models])
    return EffectModels(
        models=tuple(models),
        log_odds=scores - scores[0],
        variances=np.array([search.variance(model) for model in models]),
        gamma=search.gamma,
        complete=complete,
    )


def _members(owners: Index, terms: int) -> list[Index]:
    return [np.flatnonzero(owners == place) for place in range(terms)]


class _Search:
    """Scores of models (logarithms of their probabilities up to a constant), cached."""

    def __init__(self, found: Moments, prior: HeredityPrior, members: list[Index], gamma: float, floor: float) -> None:
        self._found, self._prior, self._members = found, prior, members
        self._floor = floor
        self.gamma = gamma
        widths = np.array([len(own) for own in members])
        self._groups = [
            (places, np.array([members[i] for i in places], dtype=np.intp))
            for width in np.unique(widths[widths > 0])
            for places in [np.flatnonzero(widths == width)]
        ]
        self._scores = dict[Effects, float]()

    def at(self, gamma: float) -> _Search:
        """The same search with effects of another size."""
        return _Search(self._found, self._prior, self._members, gamma, self._floor)

    def score(self, model: Effects) -> float:
        if model not in self._scores:
            logarithm, _ = log_marginals(self._found, self._columns(model)[None, :], self.gamma, self._floor)
            self._scores[model] = float(logarithm[0]) + self._prior.logarithm(self._mask(model))
        return self._scores[model]

    def variance(self, model: Effects) -> float:
        """The variance of a run, given the model."""
        _, left = log_marginals(self._found, self._columns(model)[None, :], self.gamma, self._floor)
        return float(left[0]) / (self._found.runs - 1)

    def path(self) -> list[Effects]:
        """Models from no effect on, each with one more, even if it does not improve: several together may."""
        models = list[Effects]([()])
        for _ in range(min(_PATH, self._found.runs - 2, len(self._members))):
            models.append(_with(models[-1], int(np.argmax(self._additions(models[-1])))))
        return models

    def climb(self, model: Effects) -> Effects:
        """Move from a model to better neighbours as long as there are any; first by adding, then by all steps."""
        for _ in range(_CLIMBS):
            added = self._best_addition(model) or self._best_step(model)
            if added is None:
                break
            model = added
        self.score(model)
        return model

    def window(self, limit: float) -> tuple[list[Effects], bool]:
        """The models within these log odds of the best, best first, without those that have a better submodel."""
        done = set[Effects]()
        while len(done) < _EXPANDED:
            top = max(self._scores.values())
            near = [m for m, score in self._scores.items() if score >= top - limit and m not in done]
            if not near:
                break
            model = max(near, key=lambda m: self._scores[m])
            done.add(model)
            for neighbour, score in self._neighbours(model, self.score(model) - limit).items():
                self._scores.setdefault(neighbour, score)
        top = max(self._scores.values())
        inside = [m for m, score in self._scores.items() if score >= top - limit]
        kept = [m for m in inside if not self._has_better_part(m)]
        complete = done.issuperset(kept)
        return sorted(kept, key=lambda m: (-self._scores[m], m)), complete

    def _has_better_part(self, model: Effects) -> bool:
        """Whether the model is better without one of its effects; dropping several at once is not considered."""
        return any(self.score(_without(model, effect)) > self.score(model) for effect in model)

    def _best_addition(self, model: Effects) -> Effects | None:
        scores = self._additions(model)
        best = int(np.argmax(scores))
        return _with(model, best) if scores[best] > self.score(model) else None

    def _best_step(self, model: Effects) -> Effects | None:
        steps = self._neighbours(model, self.score(model))
        better = {m: score for m, score in steps.items() if score > self.score(model) + 1e-9}
        return max(better, key=lambda m: better[m]) if better else None

    def _neighbours(self, model: Effects, least: float) -> dict[Effects, float]:
        """The models with an effect added, dropped or exchanged that reach the score ``least``."""
        found = dict[Effects, float]()
        for part in (model, *(_without(model, effect) for effect in model)):
            if part != model and self.score(part) >= least:
                found[part] = self.score(part)
            scores = self._additions(part)
            for place in np.flatnonzero(scores >= least):
                found[_with(part, int(place))] = float(scores[place])
        found.pop(model, None)
        return found

    def _additions(self, model: Effects) -> FloatArray:
        """The scores of the model with each effect added, shape (terms,); -inf for its own."""
        data, columns = self._found, self._columns(model)
        active = self._mask(model)
        result = np.full(len(self._members), -np.inf)
        system = data.gram[columns[:, None], columns[None, :]] + np.eye(len(columns)) / self.gamma**2
        factor = np.linalg.cholesky(system)
        solved = np.linalg.solve(factor, np.column_stack([data.gram[columns], data.products[columns]]))
        carried, own = solved[:, :-1], solved[:, -1]
        left = data.total - float(own @ own)
        products = data.products - carried.T @ own
        base = -len(columns) * np.log(self.gamma) - float(np.log(np.diagonal(factor)).sum())
        for places, members in self._groups:
            size = members.shape[1]
            inner = data.gram[members[:, :, None], members[:, None, :]] + np.eye(size) / self.gamma**2
            inner = inner - np.einsum("kta,ktb->tab", carried[:, members], carried[:, members])
            root = np.linalg.cholesky(inner)
            gained = np.linalg.solve(root, products[members][:, :, None])[:, :, 0]
            rest = np.maximum(left - np.einsum("ta,ta->t", gained, gained), 0.0) + self._floor
            volume = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
            result[places] = base - size * np.log(self.gamma) - volume - (data.runs - 1) / 2.0 * np.log(rest)
        result = result + self._prior.additions(active)
        result[active] = -np.inf
        return result

    def _columns(self, model: Effects) -> Index:
        return np.concatenate([np.empty(0, dtype=np.intp), *(self._members[effect] for effect in model)])

    def _mask(self, model: Effects) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        mask = np.zeros(len(self._members), dtype=np.bool_)
        mask[list(model)] = True
        return mask


def _with(model: Effects, effect: int) -> Effects:
    return tuple(sorted((*model, effect)))


def _without(model: Effects, effect: int) -> Effects:
    return tuple(other for other in model if other != effect)
