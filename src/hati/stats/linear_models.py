"""Effects by least squares, pure error from repetitions, analysis of variance, and the variance options explain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.distributions import f_above
from hati.stats.terms import Contrasts, ModelTerms, Term, orthogonal_part, spanned

Index = NDArray[np.intp]

ALIASED = 0.5
"""An effect counts as an alias where it biases another by half of its own size or more."""

_SAME = 1e-9
_ROUNDING = 64 * np.finfo(np.float64).eps
_MANY_RUNS = 2048


class LeastSquares(Struct, frozen=True, eq=False, dict=True):
    """The linear operator from runs to effects.

    An effect is the mean where its sign is + less the mean where it is -: on a complete design exactly
    (the Skoll paper's ME(A) and the RES paper's equations 1 to 3, each with the sign turned), else by least squares.

    ``terms`` and ``aliases`` are those of the completed runs; ``missing`` are the planned main effects and two-factor
    interactions that these can no longer estimate. ``operator`` has shape (terms, runs);
    ``variances`` are the effects' for runs of variance one and ``correlation`` is theirs, None where they are
    independent. ``remainder``, shape (d, runs), are orthonormal contrasts that belong to no term. ``balance``, shape
    (terms,), holds the mean of each term's signs. ``trend``, shape (runs,), is the residual of a linear trend after
    configurations and blocks, where effects are adjusted for one.
    """

    terms: tuple[Term, ...]
    aliases: tuple[tuple[Term, ...], ...]
    missing: tuple[Term, ...]
    operator: FloatArray
    variances: FloatArray
    correlation: FloatArray | None
    remainder: FloatArray
    balance: FloatArray
    trend: FloatArray | None = None

    def effects(self, values: FloatArray) -> FloatArray:
        """The effects, shape (terms,); mere rounding is zero."""
        return _exact(self.operator @ values, values)

    def standardised(self, values: FloatArray) -> FloatArray:
        """All contrasts, those of the terms first, scaled to the variance of one run."""
        return np.concatenate([self.effects(values) / np.sqrt(self.variances), _exact(self.remainder @ values, values)])

    @property
    def mean(self) -> FloatArray:
        """The operator to the mean over all settings of the options, which are equally frequent; shape (runs,)."""
        runs = self.operator.shape[1]
        return np.asarray(1.0 / runs - self.balance @ self.operator / 2.0)

    @cached_property
    def reported(self) -> Index:
        """The positions of the main effects and two-factor interactions."""
        return np.flatnonzero([len(term) <= 2 for term in self.terms])


def least_squares(contrasts: Contrasts, rows: Index, blocks: Index) -> LeastSquares:
    """The least-squares estimation of effects from these runs; the effects of blocks are taken out.

    A complete design (every row once in each cell of blocks) gives all contrasts, independent of each other. Otherwise
    the main effects and two-factor interactions that can still be estimated are fitted, and aliases are recomputed.

    Args:
        contrasts: those of the planned design.
        rows: the design's row of each run, shape (runs,).
        blocks: the repetition of each run, counted from 0, shape (runs,), or as in ``additive_blocks``.
    """
    if _complete(contrasts.rows, rows, block_cells(blocks)):
        operator = np.asarray(contrasts.columns[rows].T * (2.0 / len(rows)), dtype=np.float64)
        variances = np.full(len(contrasts.terms), 4.0 / len(rows))
        nothing = np.empty((0, len(rows)))
        balance = np.zeros(len(contrasts.terms))
        return LeastSquares(contrasts.terms, contrasts.aliases, (), operator, variances, None, nothing, balance)
    return _incomplete(contrasts, rows, blocks)


def _complete(configurations: int, rows: Index, blocks: Index) -> bool:
    repetitions = int(blocks.max(initial=-1)) + 1
    cells = np.unique(rows * repetitions + blocks)
    return len(rows) == len(cells) == configurations * repetitions


def _incomplete(contrasts: Contrasts, rows: Index, blocks: Index) -> LeastSquares:
    wanted = [i for i, term in enumerate(contrasts.terms) if len(term) <= 2]
    columns = contrasts.columns[rows].astype(np.float64)
    free = without_blocks(columns, blocks)  # regression on these is regression with blocks (Frisch, Waugh, Lovell)
    products = free[:, wanted].T @ free[:, wanted]
    chosen = _independent(products / len(rows))
    kept = [wanted[i] for i in chosen]
    operator = np.asarray(2.0 * np.linalg.solve(products[np.ix_(chosen, chosen)], free[:, kept].T), dtype=np.float64)
    covariance = operator @ operator.T
    variances = np.diag(covariance).copy()
    scale = np.sqrt(variances)
    return LeastSquares(
        terms=tuple(contrasts.terms[i] for i in kept),
        aliases=_aliases(contrasts, kept, operator @ columns / 2.0),
        missing=tuple(contrasts.terms[i] for i in wanted if i not in set(kept)),
        operator=operator,
        variances=variances,
        correlation=covariance / np.outer(scale, scale),
        remainder=_remainder(free[:, kept], blocks),
        balance=columns[:, kept].mean(axis=0),
    )


def additive_blocks(*classifications: Index) -> Index:
    """Blocks by several classifications whose effects add up, without those that another one determines.

    Shape (runs,) of one classification, else (runs, classifications). Machines and repetitions that are crossed thus
    take a parameter for each machine and each repetition, not for each combination.

    Args:
        classifications: the class of each run, counted from 0, shape (runs,), or several as returned by this function.

    >>> additive_blocks(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])).tolist()
    [0, 0, 1, 1]
    >>> additive_blocks(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    kept: list[Index] = []
    for one in (each for classes in classifications for each in _classifications(classes)):
        if not any(_determines(other, one) for other in kept):
            kept = [*(other for other in kept if not _determines(one, other)), one]
    return kept[0] if len(kept) == 1 else np.column_stack(kept)


def _classifications(blocks: Index) -> Index:
    return np.atleast_2d(blocks.T)


def _determines(one: Index, other: Index) -> bool:
    pairs = one * (int(other.max(initial=0)) + 1) + other
    return len(np.unique(pairs)) == len(np.unique(one))


def successive_blocks(blocks: Index, later: Index) -> Index:
    """The blocks of runs and of later ones, which share no class with them; as in ``additive_blocks``."""
    both = _classifications(blocks), _classifications(later)
    most = max(map(len, both))
    first, last = (np.pad(each, ((0, most - len(each)), (0, 0))) for each in both)
    return additive_blocks(*np.hstack([first, last + int(first.max(initial=-1)) + 1]))


def block_cells(blocks: Index) -> Index:
    """The combination of classes of each run, shape (runs,), numbered from 0 if there are several classifications."""
    if blocks.ndim == 1:
        return blocks
    return np.asarray(np.unique(blocks, axis=0, return_inverse=True)[1].reshape(-1), dtype=np.intp)


def block_columns(blocks: Index) -> FloatArray:
    """Linearly independent indicators of classes, shape (runs, rank): all of the first classification's classes.

    Of each further classification those that are independent of the columns before them.
    """
    first, *others = _classifications(blocks)
    columns = _indicators(first)
    if not others:
        return columns
    more = np.hstack([*map(_indicators, others)])
    free = without_means(more, first)
    return np.hstack([columns, more[:, _independent(free.T @ free / len(free))]])


def cell_columns(blocks: Index) -> FloatArray:
    """The ``block_columns`` of each combination of classes that occurs, shape (cells, rank)."""
    _, places = np.unique(block_cells(blocks), return_index=True)
    return np.asarray(block_columns(blocks)[places])


def _indicators(classes: Index) -> FloatArray:
    return np.asarray(classes[:, None] == np.unique(classes)[None, :], dtype=np.float64)


def without_blocks(columns: FloatArray, blocks: Index) -> FloatArray:
    """The columns, shape (runs, any), less what the effects of blocks explain by least squares."""
    first, *others = _classifications(blocks)
    left = without_means(columns, first)
    if not others:
        return left
    return orthogonal_part(left, spanned(without_means(np.hstack([*map(_indicators, others)]), first)))


def without_means(columns: FloatArray, groups: Index) -> FloatArray:
    """The columns, shape (runs, any), less their means within each group; groups are counted from 0."""
    if columns.size == 0:
        return columns
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    sizes = np.diff(starts, append=len(groups))
    sums = np.add.reduceat(columns[order], starts, axis=0)
    centred = np.empty_like(columns)
    centred[order] = columns[order] - np.repeat(sums / sizes[:, None], sizes, axis=0)
    return centred


def _independent(products: FloatArray) -> list[int]:
    """The columns that are linearly independent of those before them, by Cholesky factorisation.

    ``products`` are the columns' inner products, per run.
    """
    count = len(products)
    factor = np.zeros((count, count))
    kept = list[int]()
    for i in range(count):
        row = np.zeros(len(kept))
        for position, j in enumerate(kept):
            row[position] = (products[i, j] - row[:position] @ factor[position, :position]) / factor[position, position]
        left = products[i, i] - row @ row
        if left > _SAME:
            place = len(kept)
            factor[place, :place], factor[place, place] = row, np.sqrt(left)
            kept.append(i)
    return kept


def _aliases(contrasts: Contrasts, kept: list[int], bias: FloatArray) -> tuple[tuple[Term, ...], ...]:
    """For every kept contrast, its own alias set and the sets of dropped contrasts that bias it."""
    left_out = [i for i in range(len(contrasts.terms)) if i not in set(kept)]
    return tuple(
        (
            *contrasts.aliases[i],
            *(
                alias
                for j in left_out
                if abs(bias[position, j]) >= ALIASED
                for alias in (contrasts.terms[j], *contrasts.aliases[j])
            ),
        )
        for position, i in enumerate(kept)
    )


def _remainder(columns: FloatArray, blocks: Index) -> FloatArray:
    """An orthonormal basis of the runs' space orthogonal to columns and blocks; empty for very many runs."""
    runs = len(columns)
    levels = block_columns(blocks)
    used = columns.shape[1] + levels.shape[1]
    if runs <= used or runs > _MANY_RUNS:
        return np.empty((0, runs))
    full, _ = np.linalg.qr(np.hstack([levels, columns]), mode="complete")
    return np.asarray(full[:, used:].T, dtype=np.float64)


def pure_error(values: FloatArray, rows: Index, blocks: Index, trend: FloatArray | None = None) -> tuple[float, int]:
    """The variance of a run, from repetitions of the same configuration, and its degrees of freedom.

    It is the residual variance after configurations, blocks and, where given, the residual ``trend``; (0.0, 0) without
    degrees of freedom.
    """
    residual, df = within_residuals(values, rows, blocks)
    left = float(residual @ residual)
    if trend is not None and float(trend @ trend) > _SAME * len(values):
        left, df = max(0.0, left - float(trend @ residual) ** 2 / float(trend @ trend)), df - 1
    return (left / df, df) if df > 0 else (0.0, 0)


def within_residuals(values: FloatArray, rows: Index, blocks: Index) -> tuple[FloatArray, int]:
    """The residuals of the values after configurations plus blocks, and their degrees of freedom."""
    _, row = np.unique(rows, return_inverse=True)
    if blocks.ndim > 1:
        basis = spanned(without_means(block_columns(blocks), row))
        df = len(values) - len(np.unique(row)) - basis.shape[1]
        left = orthogonal_part(without_means(values[:, None], row), basis)[:, 0]
        return (_exact(left, values), df) if df > 0 else (np.zeros(len(values)), 0)
    _, block = np.unique(blocks, return_inverse=True)
    few, many = (row, block) if row.max(initial=0) <= block.max(initial=0) else (block, row)
    in_few, in_many = np.bincount(few), np.bincount(many)
    incidence = np.zeros((len(in_few), len(in_many)))
    np.add.at(incidence, (few, many), 1.0)
    # The normal equations of the factor with fewer levels, after the means of the other are taken out.
    system = np.diag(in_few.astype(np.float64)) - (incidence / in_many) @ incidence.T
    sizes, vectors = np.linalg.eigh(system)
    real = sizes > _SAME * len(values)
    df = len(values) - len(in_many) - int(np.sum(real))
    if df <= 0:
        return np.zeros(len(values)), 0
    own = without_means(values[:, None], many)[:, 0]
    basis = vectors[:, real]
    shifts = basis @ (basis.T @ np.bincount(few, weights=own) / sizes[real])
    return _exact(own - without_means(shifts[few][:, None], many)[:, 0], values), df


def _exact(results: FloatArray, values: FloatArray) -> FloatArray:
    """The results, with zero for those that the rounding of values of that size explains."""
    limit = _ROUNDING * float(np.max(np.abs(values), initial=0.0))
    return np.where(np.abs(results) <= limit, 0.0, results)


class SumOfSquares(Enum):
    """The other terms for which a term's sum of squares is adjusted.

    ``TYPE_2``: all that do not contain it. ``TYPE_3``: all, with sum coding.
    """

    TYPE_2 = 2
    TYPE_3 = 3


class AnovaRow(Struct, frozen=True):
    """A term's sum of squares, its degrees of freedom, F and the p-value; F is None without residuals."""

    term: Term
    sum_of_squares: float
    df: int
    f: float | None
    p_value: float | None


class Anova(Struct, frozen=True):
    """The table: a row for each term, and the ``residual`` with ``df`` degrees of freedom."""

    rows: tuple[AnovaRow, ...]
    residual: float
    df: int


def anova(terms: ModelTerms, chosen: Sequence[Term], values: FloatArray, kind: SumOfSquares) -> Anova:
    """The analysis of variance of the model with the chosen terms.

    A term's columns that others span are not counted: where combinations are missing, its degrees of freedom are
    only those that the runs can estimate.

    Args:
        terms: the columns.
        chosen: the terms in the model.
        values: shape (runs,).
        kind: the other terms for which each is adjusted.
    """
    whole = terms.basis(chosen)
    rest = values - whole @ (whole.T @ values)
    residual, df = float(rest @ rest), terms.runs - whole.shape[1]
    rows = []
    given_all = terms.added_to_others(chosen)
    for term in chosen:
        free = [other for other in chosen if other != term and not set(term) < set(other)]
        whole_model = kind is SumOfSquares.TYPE_3 or len(free) == len(chosen) - 1
        added = given_all[term] if whole_model else terms.added(term, free)
        explained, own = float(np.sum((added.T @ values) ** 2)), added.shape[1]
        f = explained / own / (residual / df) if own and df and residual > 0.0 else None
        rows.append(AnovaRow(term, explained, own, f, None if f is None else float(f_above(np.array(f), own, df))))
    return Anova(tuple(rows), residual, df)


def explained(levels: NDArray[np.int16], values: FloatArray, options: Sequence[int]) -> float:
    """The share of the values' variance that those options explain with all their interactions, from 0 to 1.

    The squared correlation ratio of the values with the options' combinations: the closed sensitivity index of Sobol
    (1993), which is R^2 of the model with all their interactions. An inactive option counts as one more setting.

    Args:
        levels: shape (configurations, options), -1 where inactive.
        values: shape (configurations,).
        options: the columns to look at.
    """
    total = float(np.sum((values - values.mean()) ** 2))
    if total <= 0.0 or not len(options):
        return 0.0
    code = np.zeros(len(values), dtype=np.int64)
    for option in options:
        column = levels[:, option].astype(np.int64) + 1
        code = np.unique(code * (int(column.max()) + 1) + column, return_inverse=True)[1]
    means = np.bincount(code, weights=values) / np.bincount(code)
    return 1.0 - float(np.sum((values - means[code]) ** 2)) / total


def rank_by_explained(levels: NDArray[np.int16], values: FloatArray) -> tuple[int, ...]:
    """All options, ranked by what they explain together with those before them; ties by position.

    Each step takes, from the pair that adds most, the option that adds more: an option that acts only together with
    another adds nothing alone. Once nothing adds any more, the others are ranked individually. Whether an option is
    active is explained by the options that it depends on, and not by itself.

    Args:
        levels: shape (configurations, options), -1 where inactive.
        values: the response, such as a model's predictions; shape (configurations,).
    """
    share = partial(_share, values=values, total=float(np.sum((values - values.mean()) ** 2)))
    ranked, left, reached = list[int](), list(range(levels.shape[1])), 0.0
    cells = np.zeros(len(values), dtype=np.int64)
    codes = {option: levels[:, option].astype(np.int64) + 1 for option in left}
    conditional = {option for option, own in codes.items() if not own.all()}
    while left:
        alone = {option: _of_settings(cells, (codes[option],), share) for option in left}
        best = max(alone.values())
        if best < 1.0 - _NO_MORE and len(left) > 1:
            pairs = {
                (one, other): max(
                    _of_settings(cells, [codes[option] for option in order], share)
                    for order in ([(one, other), (other, one)] if conditional & {one, other} else [(one, other)])
                )
                for one, other in combinations(left, 2)
            }
            place = max(pairs, key=lambda pair: pairs[pair])
            best, chosen = pairs[place], max(place, key=lambda option: alone[option])
        else:
            chosen = max(left, key=lambda option: alone[option])
        if best <= reached + _NO_MORE:
            return (*ranked, *sorted(left, key=lambda option: (-explained(levels, values, [option]), option)))
        ranked.append(chosen)
        left.remove(chosen)
        cells = np.unique(_joined(cells, codes[chosen]), return_inverse=True)[1].reshape(-1)
        reached = share(cells)
    return tuple(ranked)


def _of_settings(
    cells: NDArray[np.int64], codes: Sequence[NDArray[np.int64]], share: Callable[[NDArray[np.int64]], float]
) -> float:
    """What the cells and then these options explain, without what it adds whether each option is active."""
    activity = 0.0
    for own in codes:
        if not own.all():
            activity += share(_joined(cells, (own > 0).astype(np.int64))) - share(cells)
        cells = _joined(cells, own)
    return share(cells) - activity


def _joined(cells: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    return cells * (int(codes.max()) + 1) + codes


def _share(cells: NDArray[np.int64], values: FloatArray, total: float) -> float:
    """The share of the values' variance between cells."""
    if total <= 0.0:
        return 0.0
    sizes = np.bincount(cells)
    sums = np.bincount(cells, weights=values - values.mean())
    there = sizes > 0
    return float(np.sum(sums[there] ** 2 / sizes[there])) / total


_NO_MORE = 1e-12
