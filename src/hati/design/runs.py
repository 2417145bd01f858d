"""The runs of designs: two-level designs folded over, repeated and in blocks, and blocks of any design.

Blocks of nearly equal size, such as machines, bias the effects of a design as little as possible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, islice
from math import comb
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, InputError
from hati.design.aliasing import Hull, Indices, clear_interactions, effects, hull, indices, named
from hati.design.matrix import Design, Matrix, check_runs, effect_name, separator_of

_STARTS = 16
_PASSES = 50
_GAIN = 1e-9
_MOST_EXCHANGED = 1_024
"""Runs above which no exchanges are tried: at random the bias is small, of the order of the root of blocks per run."""


def balanced_blocks(
    columns: FloatArray, weights: Sequence[float], number: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the block of each run, from 0: blocks of nearly equal size, as orthogonal to effects as a search finds.

    A difference between blocks biases an effect by the mean of its column in each. The weighted sum of the squares of
    these is minimised by exchanges of two runs, from several random starts (Cook and Nachtsheim 1989, Computer-aided
    blocking of factorial and response-surface designs, Technometrics 31, 339-346).

    Args:
        columns: the coded effects, shape (runs, effects).
        weights: the weight of each effect.
        number: the number of blocks.
        rng: for the starts.

    Raises:
        InputError: where there are fewer than two runs for a block.
    """
    runs = len(columns)
    if number < 2 or 2 * number > runs:
        raise InputError(
            f"{number} blocks of {runs} runs have fewer than two runs each", fix=f"use 2 to {max(2, runs // 2)} blocks"
        )
    centred = (columns - columns.mean(axis=0)) * np.sqrt(np.asarray(weights, dtype=np.float64))
    found = [rng.permutation(np.arange(runs) % number) for _ in range(_STARTS)]
    if runs <= _MOST_EXCHANGED:
        found = [_exchanged(centred @ centred.T, start, number) for start in found]
    # Where effects use up the runs the sums are all the same: the largest bias decides.
    return min(found, key=lambda blocks: float(np.max(explained_by_blocks(columns, blocks) * weights)))


def _exchanged(products: FloatArray, blocks: NDArray[np.intp], number: int) -> NDArray[np.intp]:
    """Exchange runs between blocks until no exchange of two reduces the sum of squares of the blocks' sums."""
    places, sizes = np.arange(len(blocks)), products.diagonal()
    sums = np.asarray(products @ np.eye(number)[blocks])  # of each run with the runs of each block
    for _ in range(_PASSES):
        moved = False
        for run in places:
            own = blocks[run]
            change = sums[run, blocks] - sums[run, own] + sums[:, own] - sums[places, blocks]
            change += sizes[run] + sizes - 2.0 * products[run]
            change[blocks == own] = 0.0
            other = int(np.argmin(change))
            if change[other] < -_GAIN:
                shift = products[:, other] - products[:, run]
                sums[:, own] += shift
                sums[:, blocks[other]] -= shift
                blocks[run], blocks[other] = blocks[other], own
                moved = True
        if not moved:
            break
    return blocks


def explained_by_blocks(columns: FloatArray, blocks: NDArray[np.intp]) -> FloatArray:
    """The part of each column's variance that is between blocks, shape (effects,): 0 where it is orthogonal to them."""
    centred = columns - columns.mean(axis=0)
    sizes = np.bincount(blocks)
    sums = np.zeros((len(sizes), columns.shape[1]))
    np.add.at(sums, blocks, centred)
    between = np.sum(sums**2 / sizes[:, None], axis=0)
    total = np.sum(centred**2, axis=0)
    return np.asarray(np.divide(between, total, out=np.zeros_like(between), where=total > 0.0))


_MOST_EFFECTS = 3_000
_NOTHING = 1e-9


class Estimability(Struct, frozen=True):
    """The estimable effects when effects of more than ``order`` factors are null.

    ``effects`` are those distinguishable from all others up to that order and from the mean. ``rank`` is the number
    of estimable parameters, the mean's included: the rank of the model's matrix.
    """

    runs: int
    order: int
    rank: int
    effects: tuple[tuple[str, ...], ...]


class Separation(Struct, frozen=True):
    """The gain from further runs: the estimable effects without and with them."""

    before: Estimability
    after: Estimability

    @property
    def separated(self) -> tuple[tuple[str, ...], ...]:
        """The effects that can be estimated only with the added runs."""
        known = set(self.before.effects)
        return tuple(effect for effect in self.after.effects if effect not in known)


def separation(before: Design, after: Design, order: int = 2) -> Separation:
    """The effects up to an order that the additional runs of ``after`` separate, compared with ``before``.

    Raises:
        InputError: as ``estimability`` does.
    """
    return Separation(estimability(before, order), estimability(after, order))


def estimability(design: Design, order: int = 2) -> Estimability:
    """The effects up to ``order`` factors that can be estimated, from the matrix.

    Raises:
        InputError: for an order below one, more than two million effects, or more than 3,000 for a design that is not
            regular.
    """
    if order < 1:
        raise InputError(f"an order of {order} leaves no effects", fix="use 1 or more")
    geometry = hull(design)
    known = _regular(geometry, order) if geometry.regular else _any(design, order)
    return Estimability(design.runs, order, known[0], tuple(named(design, effect) for effect in known[1]))


def _regular(geometry: Hull, order: int) -> tuple[int, list[Indices]]:
    """The effects that are alone in their column; every column in use is one parameter."""
    columns = list(effects(geometry.columns, order))
    count = Counter([0, *(column for _, column in columns)])
    return len(count), [effect for effect, column in columns if count[column] == 1]


def _any(design: Design, order: int) -> tuple[int, list[Indices]]:
    """The effects in which no null vector of the model's matrix has a part, which are the estimable ones."""
    factors = len(design.factors)
    if sum(comb(factors, size) for size in range(1, order + 1)) > _MOST_EFFECTS:
        raise InputError(
            f"the effects up to order {order} of {factors} factors are too many", fix="ask for a lower order"
        )
    chosen = [effect for size in range(1, order + 1) for effect in combinations(range(factors), size)]
    values = np.unique(design.matrix, axis=0).astype(np.float64)
    model = np.column_stack([np.ones(len(values)), *(values[:, effect].prod(axis=1) for effect in map(list, chosen))])
    _, sizes, right = np.linalg.svd(model, full_matrices=False)
    rows = right[sizes > sizes[0] * _NOTHING]
    within = np.einsum("ij,ij->j", rows, rows)[1:]
    return len(rows), [effect for effect, share in zip(chosen, within, strict=True) if share > 1 - _NOTHING]


def foldover(design: Design, reverse: Sequence[str] | None = None) -> Design:
    """The design, followed by the same runs with the named factors reversed; all factors where none are named.

    Reversing all factors frees the main effects from two-factor interactions; reversing one frees it and its
    interactions (Box and Hunter 1961, Technometrics 3).

    Raises:
        InputError: for a factor that is not in the design, or a repeated one.
    """
    return _with_runs(design, "foldover", _reversed(design, reverse))


def semifoldover(design: Design, by: str, setting: Literal[-1, 1] = 1, reverse: Sequence[str] | None = None) -> Design:
    """The design, followed by half of a foldover's runs: those in which factor ``by`` has that setting.

    ``by`` alone is reversed where no factors are named. Often as many two-factor interactions can be estimated as
    after the whole foldover, though they are correlated (Mee and Peralta 2000, Technometrics 42, 122-134).

    Raises:
        InputError: for a factor that is not in the design, or one that does not halve the runs.
    """
    (place,) = indices(design, [by])
    added = _reversed(design, [by] if reverse is None else reverse)
    kept = added[added[:, place] == setting]
    if 2 * len(kept) != design.runs:
        raise InputError(f"factor {by!r} does not halve the runs: {len(kept)} of {design.runs} have that setting")
    return _with_runs(design, "semi-foldover", kept)


def replicated(design: Design, times: int) -> Design:
    """The design's runs repeated that many times, one replicate after the other.

    Raises:
        InputError: for less than one replicate, or more than 2^20 runs.
    """
    if times < 1:
        raise InputError(f"{times} replicates leave no runs", fix="use 1 or more")
    check_runs(design.runs * times)
    return Design(design.kind, design.factors, np.tile(design.matrix, (times, 1)), design.generators)


def _reversed(design: Design, reverse: Sequence[str] | None) -> Matrix:
    columns = list(range(len(design.factors))) if reverse is None else list(indices(design, reverse))
    matrix = design.matrix.copy()
    matrix[:, columns] *= -1
    return matrix


def _with_runs(design: Design, kind: Literal["foldover", "semi-foldover"], added: Matrix) -> Design:
    check_runs(design.runs + len(added))
    return Design(kind, design.factors, np.vstack([design.matrix, added]))


_MOST_COLUMNS = 2**14
_LISTED_ORDER = 3
_MOST_FACTORS = 200
_MOST_PAIRS = 2_000
_MOST_ENTRIES = 20_000_000
"""The largest number of entries in the columns of pairs."""
_PAIR_WEIGHT = 0.01
"""The weight of a two-factor interaction relative to a main effect."""


class Blocks(Struct, frozen=True):
    """The block of each run, counted from 1, and the effects that differences between blocks are confounded with.

    ``generators`` are effects whose signs give the block; ``confounded`` are all effects of two and three factors
    that are confounded with differences between blocks: main effects never are. ``lost`` are two-factor interactions
    that were clear and are no longer. Blocks that are balanced by exchanges have no generators: ``explained`` is then
    the largest fraction of a main effect's variance, and of a two-factor interaction's, that blocks explain.
    """

    of_runs: tuple[int, ...]
    generators: tuple[str, ...]
    confounded: tuple[tuple[str, ...], ...]
    lost: tuple[tuple[str, str], ...]
    explained: tuple[float, float] | None = None

    @property
    def number(self) -> int:
        """The number of blocks, which are of equal size."""
        return max(self.of_runs)


def blocks_of(design: Design, number: int, rng: np.random.Generator) -> Blocks:
    """Blocks by words of the highest order where the design is regular and the number a power of two, else balanced.

    Raises:
        InputError: as ``blocked``, and for fewer than two runs in a block.
    """
    if hull(design).regular and number & (number - 1) == 0:
        return blocked(design, number)
    mains = design.matrix.astype(np.float64)
    most = min(_MOST_PAIRS, _MOST_ENTRIES // len(mains))
    pairs = [mains[:, i] * mains[:, j] for i, j in islice(combinations(range(mains.shape[1]), 2), most)]
    columns = np.column_stack([mains, *pairs])
    weights = [1.0] * mains.shape[1] + [_PAIR_WEIGHT] * len(pairs)
    blocks = balanced_blocks(columns, weights, number, rng)
    parts = explained_by_blocks(columns, blocks)
    split = mains.shape[1]
    largest = float(parts[:split].max()), float(parts[split:].max(initial=0.0))
    return Blocks(tuple((blocks + 1).tolist()), (), (), (), largest)


def blocked(design: Design, number: int) -> Blocks:
    """A regular design's runs in 2^b blocks, at least two runs each, main effects free from block differences.

    Of the choices found (level by level, keeping the best few hundred), the one that loses the fewest clear two-factor
    interactions, then confounds the fewest of two, then of three factors.

    Raises:
        InputError: for a design that is not regular or too large, a number that is not a power of two, or more blocks
            than leave the main effects free.
    """
    geometry = hull(design)
    if not geometry.regular:
        raise InputError(
            "only a regular design can be blocked here", fix="block a full factorial or a regular fraction"
        )
    if number < 2 or number & (number - 1):
        raise InputError(f"{number} is not a valid number of blocks", fix="use 2, 4, 8, ...")
    if 2**geometry.rank > _MOST_COLUMNS or len(design.factors) > _MOST_FACTORS:
        raise InputError(f"a design of {design.runs} runs and {len(design.factors)} factors is too large to block here")
    if 2 * number > 2**geometry.rank:
        raise InputError(
            f"{number} blocks leave no two different runs in each", fix=f"use at most {2**geometry.rank // 2}"
        )
    clear = [_pair(design, pair) for pair in clear_interactions(design)]
    chosen = _search(_costs(geometry, clear), number.bit_length() - 1)
    if chosen is None:
        raise InputError(f"{number} blocks would hide main effects", fix="use fewer blocks, or more runs")
    return _blocks(design, geometry, chosen, clear)


def _costs(geometry: Hull, clear: list[Indices]) -> FloatArray:
    """The cost of confounding each column with blocks, infinite for a main effect's; shape (2^rank,)."""
    costs = np.zeros(2**geometry.rank)
    factors = range(len(geometry.columns))
    for weight, chosen in ((1.0, combinations(factors, 3)), (1e5, combinations(factors, 2)), (1e10, iter(clear))):
        for column, count in Counter(geometry.column(effect) for effect in chosen).items():
            costs[column] += weight * count
    costs[[0, *geometry.columns]] = np.inf
    return costs


def _search(costs: FloatArray, dimension: int) -> list[int] | None:
    """Generators of the subspace of that dimension with the least costly elements, by a beam search."""
    kept = max(4, min(256, 2**17 // len(costs)))
    beam: list[tuple[float, list[int], tuple[int, ...]]] = [(0.0, [], (0,))]
    places = np.arange(len(costs))
    for _ in range(dimension):
        found: dict[tuple[int, ...], tuple[float, list[int], tuple[int, ...]]] = {}
        for cost, generators, members in beam:
            added = cost + sum(costs[places ^ member] for member in members)
            for column in np.argsort(added, kind="stable")[: kept * len(members)]:
                if np.isfinite(added[column]):
                    larger = tuple(sorted((*members, *(int(column) ^ member for member in members))))
                    found.setdefault(larger, (float(added[column]), [*generators, int(column)], larger))
        beam = sorted(found.values(), key=lambda way: way[0])[:kept]
    return beam[0][1] if beam else None


def _blocks(design: Design, geometry: Hull, chosen: list[int], clear: list[Indices]) -> Blocks:
    spanned = {0}
    for column in chosen:
        spanned |= {column ^ member for member in spanned}
    every = [e for order in range(2, _LISTED_ORDER + 1) for e in combinations(range(len(design.factors)), order)]
    confounded = [effect for effect in every if geometry.column(effect) in spanned - {0}]
    shortest = {geometry.column(effect): effect for effect in reversed(confounded)}
    generators = [shortest.get(column, _base(geometry, column)) for column in chosen]
    between = separator_of(design.factors)
    lost = [effect for effect in clear if geometry.column(effect) in spanned]
    return Blocks(
        of_runs=tuple(_numbered(design, generators).tolist()),
        generators=tuple(effect_name(named(design, effect), between) for effect in generators),
        confounded=tuple(named(design, effect) for effect in confounded),
        lost=tuple((design.factors[i], design.factors[j]) for i, j in lost),
    )


def _numbered(design: Design, generators: list[Indices]) -> NDArray[np.int64]:
    blocks = np.zeros(design.runs, dtype=np.int64)
    for effect in generators:
        blocks = 2 * blocks + (design.matrix[:, list(effect)].prod(axis=1) > 0)
    return np.unique(blocks, return_inverse=True)[1] + 1


def _base(geometry: Hull, column: int) -> Indices:
    return tuple(j for i, j in enumerate(geometry.base) if column >> i & 1)


def _pair(design: Design, pair: tuple[str, str]) -> Indices:
    first, second = sorted(design.factors.index(name) for name in pair)
    return first, second
