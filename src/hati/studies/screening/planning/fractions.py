"""Regular fractions and full factorials, on request or by budget, and the assignment of options to factors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from hati.core import InputError, canonical_json, replace
from hati.core.wording import counted
from hati.design import (
    CatalogueEntry,
    Design,
    Levels,
    by_resolution,
    by_runs,
    catalogue_sizes,
    from_generators,
    regular_fraction,
    resolution,
)
from hati.design.matrix import Matrix, symbols
from hati.studies.screening.conclusion import DesignSummary

_FULL = 1_000_000
_WEAKEST, _GOOD, _CLEAR = 3, 4, 5
_ROMAN = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII", 8: "VIII"}


class Choice(Struct, frozen=True):
    """A design and its repetitions, with all that determines it: stored, so that a resumed campaign uses it again.

    ``generators`` name factors by position: ``x3`` is the third. ``resolution`` is None for a full factorial.
    Up to ``again`` further runs repeat suspect ones. The order of runs is chosen among several random ``orders``, as in
    ``ModelChoice``.
    """

    factors: int
    configurations: int
    repetitions: int
    resolution: int | None
    generators: tuple[str, ...]
    reason: str
    again: int = 0
    orders: int = 0

    def __post_init__(self) -> None:
        if min(self.factors, self.configurations, self.repetitions) < 1:
            raise InputError("a design has at least one factor, one configuration and one repetition")
        if self.again < 0:
            raise InputError(f"{self.again} runs cannot repeat others")
        if self.orders < 0:
            raise InputError(f"an order cannot be chosen among {self.orders}")

    @property
    def runs(self) -> int:
        """Configurations times repetitions."""
        return self.configurations * self.repetitions

    @property
    def levels(self) -> Levels:
        """The design's rows as positions of settings: 0 where a factor is -1, and 1 where it is +1."""
        return np.asarray(self.design(_positions(self.factors)).matrix > 0, dtype=np.int16)

    def design(self, options: Sequence[str]) -> Design:
        """The design for those options, in their order.

        Raises:
            InputError: if the number of options is not that of the factors, or the generators do not fit.
        """
        if len(options) != self.factors:
            raise InputError(
                f"the design was chosen for {counted(self.factors, 'option')}, and there are {len(options)}"
            )
        by_position = from_generators(_positions(self.factors), self.generators)
        design = Design(by_position.kind, tuple(options), by_position.matrix, by_position.generators)
        if design.runs != self.configurations:
            raise InputError(f"the generators make {design.runs} configurations, not {self.configurations}")
        return design

    def to_json(self) -> str:
        """The choice as canonical JSON, without ``orders`` where they are 0, as earlier versions lack them."""
        return canonical_json({name: own for name, own in asdict(self).items() if own or name != "orders"})

    @classmethod
    def from_json(cls, text: str) -> Choice:
        """Read what ``to_json`` wrote.

        Raises:
            InputError: for anything else.
        """
        try:
            fields = json.loads(text)
            return cls(**{**fields, "generators": tuple(fields["generators"])})
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"no stored choice of a design: {text[:60]!r}", fix="start afresh with --fresh") from error


def choose(factors: int, runs: int, most: float = math.inf) -> Choice:
    """The design and the repetitions that the runs buy.

    The first choice is the smallest design of minimum aberration with resolution IV, because it keeps main effects
    clear of two-factor interactions; the rest of the budget repeats it. A larger design is taken if two repetitions of
    it fit: the same number of runs estimates main effects equally well, fewer interactions share an alias set, and
    there is still pure error. The largest design taken is the smallest of resolution V, in which no reported effect is
    aliased with another. So 14 options get 32 x 1 from 32 runs, 32 x 3 from 96, 64 x 2 from 128. If a configuration has
    at ``most`` one run, as in a table, the larger design has to fit only once: 128 x 1.

    Raises:
        InputError: if even the smallest design of resolution III needs more runs.
    """
    if factors < 1:
        raise InputError("there is no option to screen", fix="add options with two settings each")
    sizes = catalogue_sizes(factors)
    if not sizes or sizes[0].runs > runs:
        raise InputError(
            f"{counted(runs, 'run')} {'is' if runs == 1 else 'are'} too few to screen {counted(factors, 'option')}",
            fix=f"the smallest design needs {sizes[0].runs}" if sizes else "screen fewer options",
        )
    chosen = _bought(sizes, runs, most)
    weak = _strength(chosen) < _GOOD
    why = _why_weak(factors, sizes, chosen, runs) if weak else _why(sizes, chosen, runs, most)
    return _repeated(chosen, runs, most, why)


def full_factorial_of(factors: int, runs: int, most: float = math.inf) -> Choice:
    """The full factorial, repeated as often as the runs allow, at ``most`` times; in a table, once."""
    entry = CatalogueEntry(factors, 2**factors, None)
    return _repeated(entry, runs, most, f"{_named(entry)}: nothing is aliased")


class FractionRequest(Struct, frozen=True):
    """The regular fraction that a user asks for, in one of four ways.

    The smallest of at least a ``resolution``, that of minimum aberration in ``runs`` configurations, the one of
    ``generators`` (letters are options in their order), or the ``rows`` of a design: -1 and 1 for each option in order.
    """

    resolution: int | None = None
    runs: int | None = None
    generators: tuple[str, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        given = (self.resolution is not None, self.runs is not None, bool(self.generators), bool(self.rows))
        if sum(given) != 1:
            raise InputError("--resolution, --runs and --design exclude each other", fix="give one of them")
        if self.resolution is not None and self.resolution < _WEAKEST:
            raise InputError(f"--resolution {self.resolution} is less than any fraction has", fix="write 3, 4 or more")
        if self.runs is not None and self.runs < 1:
            raise InputError(f"--runs {self.runs} is not a number of configurations", fix="write a power of two")
        if len({len(row) for row in self.rows}) > 1:
            raise InputError("the rows of the design have different widths", fix="give each option one entry in a row")

    @property
    def parameters(self) -> dict[str, object]:
        """What identifies the request, for a study's id."""
        return {name: value for name, value in asdict(self).items() if value}

    def design(self, factors: int) -> Design:
        """The design, its factors named by position.

        Raises:
            InputError: where no such design exists for that number of options, or the rows are not a regular fraction.
        """
        names = _positions(factors)
        if self.resolution is not None:
            return by_resolution(names, self.resolution)
        if self.runs is not None:
            return by_runs(names, self.runs)
        if self.generators:
            return from_generators(names, self.generators)
        return regular_fraction(names, np.array(self.rows, dtype=np.int8))


def asked_fraction(
    request: FractionRequest, factors: int, runs: int, rng: np.random.Generator, most: float = math.inf
) -> Choice:
    """The requested fraction, repeated as often as the runs allow.

    Options are assigned to columns at random, so that no option is aliased with the same others in every study;
    generators or rows that the user wrote keep their order.

    Raises:
        InputError: if the fraction does not exist, or the runs do not suffice.
    """
    design = request.design(factors)
    if design.runs > runs:
        raise InputError(
            f"the design has {design.runs} configurations, and the budget {counted(runs, 'run')}",
            fix=f"give --budget {design.runs} or more, or ask for a smaller design",
        )
    found = resolution(design)
    entry = CatalogueEntry(factors, design.runs, found)
    chosen = Choice(
        factors=factors,
        configurations=design.runs,
        repetitions=int(min(runs // design.runs, most)),
        resolution=found,
        generators=design.generators,
        reason=f"{_named(entry)}, as asked for",
    )
    written = request.generators or request.rows
    return chosen if written else assigned_at_random(chosen, rng)


def _bought(sizes: Sequence[CatalogueEntry], runs: int, most: float) -> CatalogueEntry:
    """The entry that the runs buy; the smallest of the sizes must not need more runs."""
    affordable = [entry for entry in sizes if entry.runs <= runs]
    good = [entry for entry in affordable if _strength(entry) >= _GOOD]
    if not good:
        return affordable[-1]
    enough = [entry for entry in good if _strength(entry) >= _CLEAR][:1]
    useful = [entry for entry in good if not enough or entry.runs <= enough[0].runs]
    roomy = [entry for entry in useful if min(2, most) * entry.runs <= runs]
    return roomy[-1] if roomy else useful[0]


def design_summary(choice: Choice, design: Design) -> DesignSummary:
    """The design as conclusions show it; the resolution is recomputed from the matrix."""
    return DesignSummary(
        kind=design.kind,
        runs=choice.runs,
        configurations=choice.configurations,
        repetitions=choice.repetitions,
        resolution=resolution(design),
        generators=design.generators,
    )


def _positions(factors: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(1, factors + 1))


def _strength(entry: CatalogueEntry) -> int:
    """The resolution; that of a full factorial is above all others."""
    return entry.resolution if entry.resolution is not None else _FULL


def _repeated(entry: CatalogueEntry, runs: int, most: float, reason: str) -> Choice:
    design = by_runs(_positions(entry.factors), entry.runs)
    return Choice(
        factors=entry.factors,
        configurations=entry.runs,
        repetitions=int(min(runs // entry.runs, most)),
        resolution=entry.resolution,
        generators=design.generators,
        reason=reason,
    )


def _why(sizes: Sequence[CatalogueEntry], chosen: CatalogueEntry, runs: int, most: float) -> str:
    what = _named(chosen)
    repetitions = runs // chosen.runs
    if repetitions >= most:
        times = "once: there is one run" if most == 1 else f"{most:g} times: there are no more runs"
        return f"{what}, {times} of each configuration"
    larger = next((entry for entry in sizes if entry.runs > chosen.runs), None)
    if repetitions == 1:
        return f"{what}, once: {runs} runs do not fit it twice"
    if larger is None or _strength(chosen) >= 5:
        return f"{what}, {repetitions} times: no larger design distinguishes more effects to second order"
    return f"{what}, {repetitions} times: the next larger, of {larger.runs}, would not fit twice into {runs} runs"


def _why_weak(factors: int, sizes: Sequence[CatalogueEntry], chosen: CatalogueEntry, runs: int) -> str:
    good = next((entry for entry in sizes if _strength(entry) >= 4), None)
    need = f": resolution IV needs {good.runs} runs for {factors} options" if good else ""
    return f"{_named(chosen)}, for want of more than {counted(runs, 'run')}{need}"


def _named(entry: CatalogueEntry) -> str:
    if entry.resolution is None:
        return f"the full factorial of {entry.runs} configurations"
    return f"{entry.runs} configurations of resolution {_ROMAN.get(entry.resolution, entry.resolution)}"


def assigned_at_random(choice: Choice, rng: np.random.Generator) -> Choice:
    """The same fraction, its columns assigned to the options at random."""
    return reassigned(choice, [int(option) for option in rng.permutation(choice.factors)])


def reassigned(choice: Choice, owner: Sequence[int]) -> Choice:
    """The same fraction, in which each column belongs to its ``owner``, an option's position."""
    own = symbols(_positions(choice.factors))
    others = {own[factor]: own[option] for factor, option in enumerate(owner)}
    words = re.compile("|".join(map(re.escape, sorted(own, key=len, reverse=True))))
    return replace(choice, generators=tuple(words.sub(lambda found: others[found[0]], g) for g in choice.generators))


_MOST = 5_000


def assigned(choice: Choice, likely: Sequence[int]) -> Choice:
    """The same fraction, with the ``likely`` options, the likeliest first, assigned to the factors that suit them best.

    These are the factors whose interactions are aliased least: first with main effects, then with each other, then with
    interactions of one likely option, then with any. The search covers as many of the first likely options as it can.
    """
    factors = choice.factors
    chosen = [option for option in dict.fromkeys(likely) if 0 <= option < factors]
    while comb(factors, len(chosen)) > _MOST:
        chosen.pop()
    if not choice.generators or len(chosen) < 2:
        return choice
    chosen.sort()
    aliasing = _Aliasing(from_generators(_positions(factors), choice.generators).matrix)
    found = min([tuple(chosen), *combinations(range(factors), len(chosen))], key=aliasing.of)
    others = iter(option for option in range(factors) if option not in chosen)
    taken = dict(zip(found, chosen, strict=True))
    owner = [taken[factor] if factor in taken else next(others) for factor in range(factors)]
    return reassigned(choice, owner)


class _Aliasing(Struct, frozen=True, eq=False, dict=True):
    """The alias sets of a two-level design, up to interactions of two factors; ``matrix`` is (runs, factors)."""

    matrix: Matrix

    @cached_property
    def mains(self) -> dict[bytes, int]:
        """The factor of each main effect's column, whatever its sign."""
        return {_key(self.matrix[:, factor]): factor for factor in range(self.matrix.shape[1])}

    @cached_property
    def pairs(self) -> dict[tuple[int, int], bytes]:
        """The column of each pair, whatever its sign."""
        return {
            (a, b): _key(self.matrix[:, a] * self.matrix[:, b]) for a, b in combinations(range(self.matrix.shape[1]), 2)
        }

    @cached_property
    def sets(self) -> dict[bytes, list[tuple[int, int]]]:
        """The pairs that share a column."""
        found: dict[bytes, list[tuple[int, int]]] = {}
        for pair, key in self.pairs.items():
            found.setdefault(key, []).append(pair)
        return found

    def of(self, factors: tuple[int, ...]) -> tuple[int, int, int, int]:
        """How badly the interactions of these factors are aliased: less is better."""
        keys = [self.pairs[pair] for pair in combinations(factors, 2)]
        own, inside = set(keys), set(factors)
        shared = [sum(not inside.isdisjoint(pair) for pair in self.sets[key]) - 1 for key in keys]
        with_mains = sum(key in self.mains for key in keys) + sum(
            len(self.sets.get(key, ())) for key, factor in self.mains.items() if factor in inside
        )
        return with_mains, len(keys) - len(own), sum(shared), sum(len(self.sets[key]) - 1 for key in keys)


def _key(column: Matrix) -> bytes:
    return np.asarray(column * column[0], dtype=np.int8).tobytes()
