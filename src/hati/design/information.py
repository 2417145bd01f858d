"""The information of runs about a model's coefficients, and the columns that the space can distinguish."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, InputError, replace
from hati.core.wording import effect_name, listed
from hati.design.coding import Candidates, Columns, Levels, Model, Reach
from hati.stats import Index, Term

_DEPENDENT = 1e-8
_RIDGE = 1e-4  # larger than what rounding makes of updates, smaller than what any run says
_AT_ONCE = 2_000  # rows


class Basis(Struct, frozen=True, dict=True):
    """Columns of ``model``: the ``kept`` ones are linearly independent of those before them over the candidates.

    The first ``primary`` of the kept ones are to be estimated. The others are potential, and probably inactive: each is
    its residual after the primary ones, divided by its range (DuMouchel and Jones 1994, Technometrics 36, section 2.2).
    """

    model: Model
    kept: Index
    primary: int
    projection: FloatArray
    ranges: FloatArray
    tau: float

    @cached_property
    def columns(self) -> Columns:
        """All of the model's columns."""
        return Columns(self.model)

    @cached_property
    def prior(self) -> FloatArray:
        """The prior precision of each coefficient: zero for primary ones, 1/tau^2 for potential ones.

        Primary ones get a trace of it, so that a search can begin from runs that cannot fit them.
        """
        return np.where(np.arange(len(self.kept)) < self.primary, _RIDGE, self.tau**-2.0)

    def matrix(self, rows: Levels) -> FloatArray:
        """The columns for those rows, shape (rows, kept)."""
        return self._scaled(self.columns.matrix(rows))

    def changes(self, rows: Levels) -> list[FloatArray]:
        """What other settings add to the columns that they change, as ``Columns.changes``; any combination is valid."""
        groups = zip(self.columns.changes(rows), self.columns.shifts, strict=True)
        return [found / self._divisors[shifts.columns][:, None, None] for found, shifts in groups]

    def _scaled(self, full: FloatArray) -> FloatArray:
        found = full if len(self.kept) == full.shape[-1] else full[..., self.kept]
        if self.primary == len(self.kept):
            return found
        if self.projection.any():
            found[..., self.primary :] -= found[..., : self.primary] @ self.projection
        return found / self._divisors

    @cached_property
    def _divisors(self) -> FloatArray:
        return np.concatenate([np.ones(self.primary), self.ranges])


def basis(among: Candidates, model: Model, fixed: Levels, primary_order: int, tau: float) -> Basis:
    """The basis of a model whose terms up to ``primary_order`` are to be estimated, the others potential."""
    orders = np.array([0, *(len(model.terms[owner]) for owner in model.owners[1:])])
    chosen = orders <= primary_order
    columns = Columns(model)
    if among.reach is Reach.FREE:  # orthogonal columns of mean square one
        zeros = np.zeros((int(chosen.sum()), int((~chosen).sum())))
        return Basis(model, np.arange(len(orders)), len(zeros), zeros, columns.ranges[~chosen], tau)
    rows = np.vstack([among.levels, fixed])
    parts = [rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE)]
    gram = np.sum([each.T @ each for each in map(columns.matrix, parts)], axis=0) / len(rows)
    first, others = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    first = first[independent(gram[np.ix_(first, first)])]
    between = gram[np.ix_(first, others)]
    projection = np.linalg.solve(gram[np.ix_(first, first)], between)
    left = np.diag(gram)[others] - (projection * between).sum(axis=0)
    there = left > _DEPENDENT
    kept, projection = np.concatenate([first, others[there]]), projection[:, there]
    unscaled = Basis(model, kept, len(first), projection, np.ones(int(there.sum())), tau)
    potential = [unscaled.matrix(part)[:, len(first) :] for part in parts]
    ranges = np.max([part.max(axis=0) for part in potential], axis=0)
    ranges -= np.min([part.min(axis=0) for part in potential], axis=0)
    return replace(unscaled, ranges=ranges)


def independent(gram: FloatArray) -> Index:
    """The columns that are linearly independent of those before them, from their products; shape (independent,)."""
    size = len(gram)
    rows = np.zeros((size, size))  # of the upper Cholesky factor
    kept: list[int] = []
    for column in range(size):
        known = rows[: len(kept)]
        left = gram[column, column] - known[:, column] @ known[:, column]
        if left > _DEPENDENT * max(gram[column, column], _DEPENDENT):
            rows[len(kept)] = (gram[column] - known[:, column] @ known) / np.sqrt(left)
            kept.append(column)
    return np.array(kept, dtype=np.intp)


class Identified(Struct, frozen=True, eq=False, dict=True):
    """A model and its columns that are linearly independent over all valid configurations.

    ``model`` has the terms of the lowest order first; ``kept`` are the positions of those columns, including the
    intercept's. Nested options and constraints exclude the others, and no run can change that.
    """

    model: Model
    kept: Index

    @cached_property
    def _there(self) -> tuple[Index, Index]:
        owners = self.model.owners[self.kept]
        count = len(self.model.terms)
        every = np.bincount(self.model.owners[1:], minlength=count)
        return every, np.bincount(owners[owners >= 0], minlength=count)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms with at least one kept column."""
        return self._where(self._there[1] > 0)

    @property
    def reduced(self) -> tuple[Term, ...]:
        """The terms with some of their columns, but not all."""
        every, there = self._there
        return self._where((there > 0) & (there < every))

    @property
    def dropped(self) -> tuple[Term, ...]:
        """The terms without any kept column."""
        return self._where(self._there[1] == 0)

    def columns(self, levels: Levels) -> dict[Term, FloatArray]:
        """Each term's columns for those runs; columns that are not kept are zero."""
        return self.restricted(self.model.columns(levels))

    def restricted(self, columns: Mapping[Term, FloatArray]) -> dict[Term, FloatArray]:
        """The columns of some terms, those that are not kept being zero; terms without a kept one are left out.

        Terms that are not in the model keep all columns.
        """
        kept = {term: self._known.get(term, np.ones(1, dtype=np.bool_)) for term in columns}
        return {term: own * kept[term] for term, own in columns.items() if kept[term].any()}

    @cached_property
    def _known(self) -> dict[Term, NDArray[np.bool_]]:
        """Which of each term's columns are kept."""
        kept = np.isin(np.arange(len(self.model.owners)), self.kept)
        return {term: kept[self.model.owners == place] for place, term in enumerate(self.model.terms)}

    def runs_needed(self, levels: Levels) -> int:
        """The fewest added runs with which all kept columns can be estimated: each adds at most one to the rank."""
        columns = self.model.matrix(levels)[:, self.kept]
        return len(self.kept) - len(independent(columns.T @ columns / len(columns)))

    def _where(self, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Term, ...]:
        return tuple(self.model.terms[place] for place in np.flatnonzero(chosen))


def identified(among: Candidates, terms: Sequence[Term], levels: Levels) -> Identified:
    """The part of those terms that a space can identify.

    Args:
        among: its valid configurations, or a sample of them.
        terms: in any order.
        levels: completed runs, which are considered as well.
    """
    model = Model(among.sizes, tuple(sorted(terms, key=lambda term: (len(term), term))))
    highest = max((len(term) for term in terms), default=1)
    return Identified(model, np.sort(basis(among, model, levels, highest, 1.0).kept))


class Ties(NamedTuple):
    """Options whose main effects equal those of others over the valid configurations, ``wholly`` or only ``partly``."""

    wholly: tuple[int, ...]
    partly: tuple[int, ...]


def ties(population: Levels, sizes: Sequence[int]) -> Ties:
    """The options that are determined by others in all valid configurations.

    Among options that determine each other the one with the most settings stays, the first of equals.

    Args:
        population: valid configurations, all or a sample.
        sizes: the options' numbers of settings.
    """
    order = sorted(range(len(sizes)), key=lambda option: (-sizes[option], option))
    model = Model(tuple(sizes), tuple((option,) for option in order))
    columns = model.matrix(population)
    kept = independent(columns.T @ columns / len(columns))
    there = Counter(order[owner] for owner in model.owners[kept] if owner >= 0)
    return Ties(
        tuple(option for option, size in enumerate(sizes) if size > 1 and not there[option]),
        tuple(option for option, size in enumerate(sizes) if 0 < there[option] < size - 1),
    )


class Information:
    """The inverse of M = X'X + diag(prior) for rows X, and the gains of exchanging rows.

    ``watched`` are rows whose variances are updated at every exchange, in O(watched x parameters). They lack the first
    ``lead`` columns, those of blocks, which depend on the place in which a row is tried. ``moments``, the mean of x x'
    over the rows to be predicted, gives the average for I-optimality; without it the criterion is the determinant.
    """

    def __init__(
        self,
        rows: FloatArray,
        prior: FloatArray,
        watched: FloatArray | None = None,
        moments: FloatArray | None = None,
    ) -> None:
        self._prior = prior
        self._moments = moments
        self._watched = np.empty((0, rows.shape[1])) if watched is None else watched
        self._lead = rows.shape[1] - self._watched.shape[1]
        self.refresh(rows)

    def refresh(self, rows: FloatArray) -> None:
        """Recompute everything from those rows, which removes the rounding errors of updates."""
        from scipy.linalg import cho_solve  # loaded only where a design is searched for: it is slow

        factor = self._factor(rows)
        self.inverse = np.asfortranarray(cho_solve((factor, True), np.eye(len(factor)), check_finite=False))
        self._spread = None if self._moments is None else self.inverse @ self._moments @ self.inverse
        self.average_variance = 0.0 if self._moments is None else float((self.inverse * self._moments).sum())
        self._variances = self._forms(self.inverse)
        self._spreads = None if self._spread is None else self._forms(self._spread)

    def refresh_value(self, rows: FloatArray) -> None:
        """Recompute ``value`` from those rows, after the last exchange."""
        if self._moments is None:
            self._factor(rows)
        else:
            self.refresh(rows)

    def _factor(self, rows: FloatArray) -> FloatArray:
        """The lower Cholesky factor of M for those rows, which gives the log determinant."""
        from scipy.linalg import cho_factor

        matrix = rows.T @ rows
        matrix[np.diag_indices_from(matrix)] += self._prior
        factor, _ = cho_factor(matrix, lower=True, check_finite=False)
        self.log_determinant = 2.0 * float(np.log(np.diag(factor)).sum())
        return np.asarray(factor)

    @property
    def value(self) -> float:
        """The value to maximise: the log determinant, or the average variance, negative."""
        return self.log_determinant if self._moments is None else -self.average_variance

    def gains(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        """The gain of exchanging each row for one of its others, above 0 where ``value`` grows.

        The gain is the relative growth of the determinant, or the decrease of the average variance. ``rows`` has shape
        (rows, parameters), ``others`` (rows, moves, parameters), and the result (rows, moves).
        """
        spreads = None if self._spread is None else self._against(rows, others, self._spread)
        return self._gains(self._against(rows, others, self.inverse), spreads)

    def shift_gains(self, rows: FloatArray, changes: Sequence[FloatArray], columns: Sequence[Index]) -> FloatArray:
        """The same gains where only a few columns change; shape (rows, moves).

        For each group of options, ``changes``, shape (options, rows, moves, changed columns), is what moves add to
        those of the ``columns``, shape (options, changed columns).
        """
        spread, variances = self._spread, changed_forms(rows, rows @ self.inverse, changes, columns, self.inverse)
        spreads = None if spread is None else changed_forms(rows, rows @ spread, changes, columns, spread)
        return self._gains(variances, spreads)

    def watched_gains(self, rows: FloatArray) -> FloatArray:
        """The same gains for the watched rows, which take over a row's block columns; shape (rows, watched)."""
        spreads = None
        if self._spread is not None and self._spreads is not None:
            spreads = self._completed(rows, self._spread, self._spreads)
        return self._gains(self._completed(rows, self.inverse, self._variances), spreads)

    def exchange(self, row: FloatArray, other: FloatArray) -> None:
        """Replace a row by the other one."""
        pair = np.column_stack([other, row])
        solved = self.inverse @ pair
        core = pair.T @ solved + np.diag([1.0, -1.0])
        determinant = core[0, 0] * core[1, 1] - core[0, 1] * core[1, 0]
        weights = np.array([[core[1, 1], -core[0, 1]], [-core[1, 0], core[0, 0]]]) / determinant
        watched = self._watched @ solved[self._lead :]
        if self._spread is not None:
            self._exchange_spread(pair, solved, weights, watched)
        self.log_determinant += math.log(max(-determinant, LEAST_GROWTH))
        downdate(self.inverse, (solved @ weights).T, solved.T)
        self._variances -= _paired(watched @ weights, watched)

    def _exchange_spread(self, pair: FloatArray, solved: FloatArray, weights: FloatArray, watched: FloatArray) -> None:
        """Update inverse x moments x inverse, from the inverse before the exchange."""
        assert self._spread is not None
        assert self._spreads is not None
        spread = self._spread @ pair
        inner = pair.T @ spread
        twice = weights @ inner @ weights
        self.average_variance -= float((weights * inner).sum())
        self._spreads += _paired(watched @ twice, watched)
        self._spreads -= 2.0 * _paired(watched @ weights, self._watched @ spread[self._lead :])
        crossed = solved @ weights @ spread.T
        self._spread += solved @ twice @ solved.T - crossed - crossed.T

    def _forms(self, matrix: FloatArray) -> FloatArray:
        inner = matrix[self._lead :, self._lead :]
        return _paired(self._watched @ inner, self._watched)

    def _completed(self, rows: FloatArray, matrix: FloatArray, forms: FloatArray) -> Forms:
        """Those of the watched rows, with each row's blocks."""
        lead, blocks = self._lead, rows[:, : self._lead]
        solved = rows @ matrix
        own, products = _paired(solved, rows)[:, None], solved[:, lead:] @ self._watched.T
        if not lead:
            return Forms(own, forms, products)
        inner = matrix[:lead, :lead]
        products += _paired(solved[:, :lead], blocks)[:, None]
        mixed = 2.0 * (blocks @ matrix[:lead, lead:]) @ self._watched.T
        return Forms(own, forms + mixed + _paired(blocks @ inner, blocks)[:, None], products)

    @staticmethod
    def _against(rows: FloatArray, others: FloatArray, matrix: FloatArray) -> Forms:
        """Those of the other rows."""
        shaped = (others.reshape(-1, others.shape[-1]) @ matrix).reshape(others.shape)
        own = _paired(rows @ matrix, rows)[:, None]
        return Forms(own, np.einsum("ijk,ijk->ij", shaped, others), np.einsum("ijk,ik->ij", shaped, rows))

    @staticmethod
    def _gains(variances: Forms, spreads: Forms | None) -> FloatArray:
        growth = variances.growth
        if spreads is None:
            return growth - 1.0
        # Woodbury's identity for the same exchange: Meyer and Nachtsheim (1995), Technometrics 37, section 3.
        change = (1.0 - variances.own) * spreads.others + 2.0 * variances.products * spreads.products
        change -= (1.0 + variances.others) * spreads.own
        return np.where(growth > LEAST_GROWTH, change / np.maximum(growth, LEAST_GROWTH), -np.inf)


class Forms(NamedTuple):
    """Quadratic forms in a matrix: rows' ``own``, those of ``others``, and the ``products`` of the two.

    ``own`` has shape (rows, 1), the rest (rows, moves).
    """

    own: FloatArray
    others: FloatArray
    products: FloatArray

    @property
    def growth(self) -> FloatArray:
        """The factor by which the determinant grows (Fedorov 1972, Theory of Optimal Experiments, section 3.2)."""
        return np.asarray((1.0 + self.others) * (1.0 - self.own) + self.products**2)


LEAST_GROWTH = 1e-12
"""The factor of a determinant below which it is rounding."""


def downdate(matrix: FloatArray, left: FloatArray, right: FloatArray) -> None:
    """Subtract left' right, of shapes (any, parameters), from a matrix in Fortran's order, in place."""
    from scipy.linalg.blas import dgemm

    assert matrix.flags.f_contiguous  # else the result is in a copy
    dgemm(-1.0, left.T, right.T, beta=1.0, c=matrix, trans_b=True, overwrite_c=True)


def changed_forms(
    rows: FloatArray,
    products: FloatArray,
    changes: Sequence[FloatArray],
    columns: Sequence[Index],
    matrix: FloatArray,
) -> Forms:
    """The forms of rows with changes, as those of ``Information.shift_gains``; ``products`` are rows @ matrix."""
    crossed, squares = [np.empty((len(rows), 0))], [np.empty((len(rows), 0))]
    for found, places in zip(changes, columns, strict=True):
        squares.append(_by_row(changed_squares(found, places, matrix)))
        crossed.append(_by_row(np.einsum("orsc,roc->ors", found, products[:, places])))
    own, mixed = _paired(products, rows)[:, None], np.hstack(crossed)
    return Forms(own, own + 2.0 * mixed + np.hstack(squares), own + mixed)


def changed_squares(changes: FloatArray, columns: Index, matrix: FloatArray) -> FloatArray:
    """The quadratic forms of changes of a group of options, of shape (options, rows, settings)."""
    inner = changes.reshape(len(columns), -1, changes.shape[3])
    flat = matrix.ravel(order="K")  # of a symmetric matrix, whichever its order
    blocks = flat.take(columns[:, None] * len(matrix) + columns[:, :, None])
    return np.asarray(np.einsum("omc,omc->om", inner @ blocks, inner).reshape(changes.shape[:3]))


def _by_row(forms: FloatArray) -> FloatArray:
    """The forms of (options, rows, settings), in the shape (rows, options * settings)."""
    return forms.transpose(1, 0, 2).reshape(forms.shape[1], -1)


def _paired(left: FloatArray, right: FloatArray) -> FloatArray:
    """The inner product of each row of one with the same row of the other."""
    return np.asarray(np.einsum("ij,ij->i", left, right))


_MOST_NAMED = 8


class Fit(Struct, frozen=True):
    """The information of the runs about ``model``.

    ``kept`` are the model's columns that the space can distinguish; ``terms`` the terms with all their columns,
    ``reduced`` those with some and ``dropped`` those with none, by names such as a and a:b. ``d_efficiency`` is
    |X'X / runs|^(1 / parameters), blocks' columns included. ``standard_errors`` are the largest of each order's
    coefficients, main effects being of order 1, in sigma: of the columns that ``setting_contrasts`` codes.
    """

    model: Model
    kept: Index
    terms: tuple[str, ...]
    reduced: tuple[str, ...]
    dropped: tuple[str, ...]
    d_efficiency: float
    standard_errors: Mapping[int, float]

    @property
    def largest_standard_error(self) -> float:
        """The largest standard error of all coefficients except the intercept's, in sigma."""
        return max(self.standard_errors.values(), default=0.0)

    @property
    def parameters(self) -> int:
        """The number of estimated coefficients, with the intercept and without blocks."""
        return len(self.kept)


def fit(levels: Levels, model: Model, names: Sequence[str], blocks: FloatArray, kept: Index) -> Fit:
    """The information of those runs about the ``kept`` columns of a model; ``blocks`` has shape (runs, blocks - 1).

    Raises:
        InputError: where the runs cannot fit the model; the message names terms that earlier ones determine.
    """
    rows = np.hstack([blocks, model.matrix(levels)[:, kept]])
    gram = rows.T @ rows / len(rows)
    _check(gram, model, names, kept, blocks.shape[1], len(rows))
    inverse = np.linalg.inv(gram)
    errors = np.sqrt(np.diag(inverse)[blocks.shape[1] :] / len(rows))
    owners = model.owners[kept]
    orders = np.array([0 if owner < 0 else len(model.terms[owner]) for owner in owners])
    all_columns = np.bincount(model.owners[1:], minlength=len(model.terms))
    there = np.bincount(owners[owners >= 0], minlength=len(model.terms))
    return Fit(
        model,
        kept,
        _named(model, names, np.flatnonzero((there == all_columns) & (there > 0))),
        _named(model, names, np.flatnonzero((there < all_columns) & (there > 0))),
        _named(model, names, np.flatnonzero(there == 0)),
        float(np.exp(np.linalg.slogdet(gram)[1] / len(gram))),
        {int(order): float(errors[orders == order].max()) for order in np.unique(orders) if order},
    )


def fitted(levels: Levels, model: Model, names: Sequence[str]) -> Fit:
    """The information of those runs about all columns of a model, in one block.

    Raises:
        InputError: as ``fit``.
    """
    return fit(levels, model, names, np.empty((len(levels), 0)), np.arange(model.parameters))


def _check(gram: FloatArray, model: Model, names: Sequence[str], kept: Index, blocks: int, runs: int) -> None:
    found = independent(gram)
    lost = sorted(set(range(len(gram))) - set(found.tolist()))
    if not lost:
        return
    owners = dict.fromkeys(model.owners[kept[column - blocks]] for column in lost if column >= blocks)
    terms = [effect_name(names[option] for option in model.terms[owner]) for owner in owners if owner >= 0]
    raise InputError(
        f"{runs} runs cannot fit the {len(gram)} parameters of this model; not distinguished from earlier terms: "
        f"{listed(terms or ['the blocks'], _MOST_NAMED)}",
        fix=f"use at least {len(gram)} runs, a lower order, or the criterion bayes",
    )


def _named(model: Model, names: Sequence[str], terms: Sequence[int] | Index) -> tuple[str, ...]:
    return tuple(":".join(names[option] for option in model.terms[term]) for term in terms)
