"""Two-level designs as matrices of -1 and +1, and the configurations of a space for the rows of any design.

A matrix has the names of its columns; effects are called ``ACH``. Configurations have an order; some are read from a
table, and some have not run yet.
"""

from __future__ import annotations

import csv
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from hati.core import Configuration, InputError, Place, replace
from hati.core.wording import counted, listed, suggestion
from hati.design.coding import Candidates, Levels, levels, listed_or_sampled

if TYPE_CHECKING:
    from hati.space import Option, Space


Matrix = NDArray[np.int8]
"""Shape (runs, factors), entries -1 and +1."""

Kind = Literal["full factorial", "regular fraction", "Plackett-Burman", "foldover", "semi-foldover", "given"]

MOST_RUNS = 2**20
MOST_FACTORS = 1024


@dataclass(frozen=True, eq=False)
class Design:
    """The settings of every factor in every run, -1 for the first setting and +1 for the second.

    ``matrix`` is a read-only copy of shape (runs, factors). ``kind`` and ``generators`` only record the construction:
    every property is recomputed from the matrix. Two designs are equal when they have the same factors and the same
    matrix.

    Raises:
        InputError: for names that are empty, not printable or repeated, for a matrix of another
            shape or with other entries, and above 2^20 runs or 1,024 factors.
    """

    kind: Kind
    factors: tuple[str, ...]
    matrix: Matrix
    generators: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        check_factors(self.factors)
        given = np.asarray(self.matrix)
        if given.ndim != 2 or given.shape[0] == 0 or given.shape[1] != len(self.factors):
            raise InputError(
                f"a design of {len(self.factors)} factors needs a matrix of that many columns and some rows"
            )
        check_runs(given.shape[0])
        if not np.all((given == 1) | (given == -1)):
            raise InputError("a design's matrix has entries other than -1 and 1")
        matrix = np.array(given, dtype=np.int8, order="C")
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    @property
    def runs(self) -> int:
        """Number of rows: one configuration each."""
        return int(self.matrix.shape[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Design) and self.factors == other.factors and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.factors, self.matrix.tobytes()))


def check_factors(factors: tuple[str, ...]) -> None:
    """Check that names are distinct, printable and not too many.

    Raises:
        InputError: where they are not.
    """
    if not 1 <= len(factors) <= MOST_FACTORS:
        raise InputError(
            f"a design has 1 to {MOST_FACTORS} factors, not {len(factors)}",
            fix="give a project options, or name --factors",
        )
    for name in factors:
        if not name.strip() or name != name.strip() or not name.isprintable():
            raise InputError(
                f"{name!r} is not a valid name for a factor", fix="use printable text without spaces around it"
            )
    twice = sorted({name for name in factors if factors.count(name) > 1}) if len(set(factors)) < len(factors) else []
    if twice:
        raise InputError(f"factor {twice[0]!r} is there twice")


def check_runs(runs: int) -> None:
    """Check that a design does not have too many runs.

    Raises:
        InputError: above 2^20.
    """
    if runs > MOST_RUNS:
        raise InputError(f"a design of {runs} runs is too large", fix=f"use at most {MOST_RUNS} runs: a fraction")


_ALPHABET = string.ascii_uppercase + string.ascii_lowercase
_NUMBERED = re.compile(r"([^\W\d]*)(\d{1,6})-([^\W\d]*)(\d{1,6})", re.ASCII)


def letters(count: int) -> tuple[str, ...]:
    """The first design letters: A to Z, then a to z.

    ``I`` is a factor like any other, as in the RES paper; so the identity is never written as a letter.

    Raises:
        InputError: for more than 52, or fewer than one.

    >>> "".join(letters(10))
    'ABCDEFGHIJ'
    """
    if not 1 <= count <= len(_ALPHABET):
        raise InputError(
            f"there are letters for 1 to {len(_ALPHABET)} factors, not {count}", fix="number them, such as x1-x60"
        )
    return tuple(_ALPHABET[:count])


def symbols(factors: Sequence[str]) -> tuple[str, ...]:
    """The symbol of each factor in a generator: its name where all names are one character, else a letter.

    Longer names of more than 52 factors are their own symbols.
    """
    if _short(factors) or len(factors) > len(_ALPHABET):
        return tuple(factors)
    return letters(len(factors))


def effect_name(factors: Iterable[str], separator: str) -> str:
    """An effect as people read it: ``ACH``, or ``journal_mode:page_size`` with the separator ``:``."""
    return separator.join(factors)


def separator_of(factors: Sequence[str]) -> str:
    """The separator of factors in an effect: none where all names are one character, else a colon."""
    return "" if _short(factors) else ":"


def parse_factors(text: str) -> tuple[str, ...]:
    """Read factors: names and ranges between commas, such as ``A-N``, ``A-H,J``, ``o1-o14``, ``cache,sync``.

    Raises:
        InputError: for an empty piece, a range that runs backwards, or a repeated name.

    >>> parse_factors("A-C,X,o9-o11")
    ('A', 'B', 'C', 'X', 'o9', 'o10', 'o11')
    """
    factors = tuple(name for piece in text.split(",") for name in _expand(piece.strip()))
    check_factors(factors)
    return factors


def _expand(piece: str) -> tuple[str, ...]:
    start, dash, end = piece.partition("-")
    if not piece or (dash and not (start and end)):
        raise InputError(f"{piece!r} is neither a factor nor a range", fix="write factors as 'A-N' or 'A,B,C'")
    if dash and start in _ALPHABET and end in _ALPHABET and len(start) == len(end) == 1:
        first, last = _ALPHABET.index(start), _ALPHABET.index(end)
        _check_range(piece, first, last)
        return tuple(_ALPHABET[first : last + 1])
    numbered = _NUMBERED.fullmatch(piece)
    if numbered and numbered[1] == numbered[3]:
        first, last = int(numbered[2]), int(numbered[4])
        _check_range(piece, first, last)
        return tuple(f"{numbered[1]}{number}" for number in range(first, last + 1))
    return (piece,)


def _check_range(piece: str, first: int, last: int) -> None:
    if first > last:
        raise InputError(f"the range {piece!r} runs backwards", fix="write the lower end first")
    if last - first >= MOST_FACTORS:
        raise InputError(f"the range {piece!r} has more than {MOST_FACTORS} factors")


def _short(factors: Sequence[str]) -> bool:
    return all(len(name) == 1 for name in factors)


_WHAT_SERVES = "use an optimal design, as of `hati design PATH --runs N --optimal bayes`"


def configurations(design: Design, space: Space) -> tuple[Configuration, ...]:
    """One configuration per row: -1 is an option's first setting, +1 its second.

    Factors correspond to options by name or, where they are the letters A, B, ..., by position.

    Raises:
        InputError: where factors and options do not correspond, or the space has constraints, options that
            are active under a condition, or options with other than two settings.
    """
    check_two_level(space)
    columns = _options(design, space)
    return tuple(
        space.complete({option.name: option.settings[entry > 0] for option, entry in zip(columns, row, strict=True)})
        for row in design.matrix.tolist()
    )


def check_two_level(space: Space) -> None:
    """Check that a two-level design fits the space: two settings each, all combinations valid, none without influence.

    Raises:
        InputError: where it does not; the message names all obstacles and the alternative.
    """
    obstacles = tuple(_obstacles(space))
    if obstacles:
        raise InputError(
            f"{listed(obstacles, separator='; ')}: "
            "a two-level design needs two settings of every option, and all combinations valid",
            fix=f"leave that out of the space, or {_WHAT_SERVES}",
        )


def _obstacles(space: Space) -> Iterator[str]:
    for option in space.options:
        if len(option.settings) != 2:
            number = len(option.settings)
            yield f"option {option.name!r} has {counted(number, 'setting')}"
    for option in space.options:
        if option.active_if is not None:
            yield f"option {option.name!r} has no influence in some configurations"
    if space.constraints:
        yield "the space has constraints"


def _options(design: Design, space: Space) -> list[Option]:
    """The option of every column."""
    named = {option.name: option for option in space.options}
    if named.keys() == set(design.factors):
        return [named[factor] for factor in design.factors]
    count = len(design.factors)
    if count == len(named) and count <= len(letters(52)) and design.factors == letters(count):
        return list(space.options)
    strangers = sorted(named.keys() ^ set(design.factors))
    raise InputError(
        f"the design's factors are not the space's options: {', '.join(strangers[:10])}",
        fix=f"name the factors as the options: {','.join(named)}",
    )


def read_runs(text: str, space: Space, file: str = "runs.csv") -> Levels:
    """The runs in a CSV text with a column for every option; other columns are ignored.

    Settings are read as by ``Space.parse``; an option without influence is empty. A configuration may be repeated.

    Raises:
        InputError: with the line, for a row that is not a valid configuration, or where a column is missing.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    reader = csv.DictReader(lines, strict=True)
    try:
        header = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = header
        _check_header(header, space, Place(file, 1))
        found = [_configuration(row, space, Place(file, reader.line_num)) for row in reader]
    except csv.Error as error:
        raise InputError(f"this is not CSV: {error}", place=Place(file, reader.line_num)) from error
    if not found:
        return np.empty((0, len(space.options)), dtype=np.int16)
    return levels(found, space)


def _check_header(header: list[str], space: Space, place: Place) -> None:
    for name in space.names:
        if name not in header:
            raise InputError(
                f"there is no column for option {name!r}", place=place, fix=suggestion(name, [h for h in header if h])
            )
        if header.count(name) > 1:
            raise InputError(f"there are two columns for option {name!r}", place=place, fix="keep one")


def _configuration(row: Mapping[str, str | None], space: Space, place: Place) -> Configuration:
    texts = {name: row[name] for name in space.names}
    missing = [name for name, text in texts.items() if text is None]
    if missing:
        raise InputError(f"this row ends before column {missing[0]!r}", place=place)
    try:
        configuration = space.parse({name: text or "" for name, text in texts.items()})
    except InputError as error:
        raise InputError(error.message, place=place, fix=error.fix) from error
    if not space.valid(configuration):
        raise InputError("this configuration is not valid: it breaks a constraint", place=place, fix="drop the row")
    return configuration


def unmeasured(space: Space, measured: Levels, rng: np.random.Generator) -> Candidates:
    """The valid configurations without a run: all, or of more than 20,000 a uniform sample of 4,000.

    Args:
        space: the options.
        measured: the completed runs, shape (runs, options).
        rng: for the sample.

    Raises:
        InputError: where the constraints are too entangled to count.
    """
    found = listed_or_sampled(space, rng)
    known = {row.tobytes() for row in measured}
    return replace(found, levels=found.levels[[row.tobytes() not in known for row in found.levels]])
