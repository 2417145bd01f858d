"""Designs as files of CSV and JSON, as plain values, and as tables."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import comb
from typing import Annotated

import numpy as np
from msgspec import UNSET, Struct, UnsetType

from hati.core import Configuration, InputError, Place, Setting, setting_text
from hati.core.wording import listed
from hati.design import Blocks, CoveringArray, Criterion, Separation, from_levels, level_properties, properties
from hati.design.aliasing import (
    Indices,
    Word,
    clear_interactions,
    groups,
    hull,
    partial_aliases,
    shortest_words,
    word_length_pattern,
)
from hati.design.matrix import MOST_FACTORS, Design, check_runs, effect_name, separator_of
from hati.design.orthogonal_arrays import LevelDesign
from hati.document.document import Align, Cell, Column, Table, percent, roman
from hati.document.publishing import Of

DESIGN_FORMAT = "hati-design-1"

_LEVELS = {"-1": -1, "-": -1, "\u2212": -1, "1": 1, "+1": 1, "+": 1}
_ENTRY = "write -1 for the first setting and 1 for the second"
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]{},:]|[^\s\[\]{},:"]+')


def write_csv(design: Design) -> str:
    """A header of factors, and a line of -1 and 1 for every run."""
    lines = [",".join(_quoted(name) for name in design.factors)]
    lines += [",".join(str(entry) for entry in row) for row in design.matrix.tolist()]
    return "\n".join(lines) + "\n"


def read_csv(text: str, file: str = "design.csv") -> Design:
    """Read what ``write_csv`` writes; ``-`` and ``+`` are entries too, and empty lines are skipped.

    Raises:
        InputError: with line and column, for an unsuitable header, an entry that is not valid, or a row of
            another length.
    """
    lines = [
        (n, line) for n, line in enumerate(re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff")), 1) if line.strip()
    ]
    if not lines:
        raise InputError("there is no design here", place=Place(file), fix="write a header of factors, then the runs")
    (number, header), *body = lines
    factors = _header(header, Place(file, number, 1, header))
    rows = [_row(line, len(factors), Place(file, n, 1, line)) for n, line in body]
    return _built(factors, rows, Place(file, number, 1, header))


def read_json(text: str, file: str = "design.json") -> Design:
    """Read a JSON object with ``factors`` and ``matrix``, such as one of `hati design --format json`.

    Raises:
        InputError: with line and column, for text that is not JSON, or an unsuitable value.
    """
    text = text.removeprefix("\ufeff")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        place = Place(file, error.lineno, error.colno, _line_of(text, error.lineno))
        raise InputError(f"this is not JSON: {error.msg}", place=place) from error
    except (ValueError, RecursionError) as error:
        raise InputError("this is not JSON of a design: too deep or a number too long", place=Place(file)) from error
    if not isinstance(value, dict) or not {"factors", "matrix"} <= value.keys():
        raise InputError("a design is a JSON object with 'factors' and 'matrix'", place=_locate(text, (), file))
    factors, matrix = value["factors"], value["matrix"]
    if not isinstance(factors, list) or not all(isinstance(name, str) for name in factors):
        raise InputError("'factors' is not a list of names", place=_locate(text, ("factors",), file))
    if not isinstance(matrix, list):
        raise InputError("'matrix' is not a list of runs", place=_locate(text, ("matrix",), file))
    rows = [_json_row(row, i, len(factors), text, file) for i, row in enumerate(matrix)]
    return _built(tuple(factors), rows, _locate(text, ("factors",), file))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text


def _header(line: str, place: Place) -> tuple[str, ...]:
    try:
        (names,) = csv.reader([line], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise InputError(f"this header is not CSV: {error}", place=place) from error
    return tuple(name.strip() for name in names)


def _row(line: str, factors: int, place: Place) -> list[int]:
    cells = line.split(",")
    column = 1
    row: list[int] = []
    for cell in cells:
        bare = cell.strip().strip('"')
        here = Place(place.file, place.line, column + len(cell) - len(cell.lstrip()), line)
        if len(row) == factors:
            raise InputError(f"this run has {len(cells)} entries for {factors} factors", place=here)
        if bare not in _LEVELS:
            raise InputError(f"{bare[:20]!r} is not an entry of a design", place=here, fix=_ENTRY)
        row.append(_LEVELS[bare])
        column += len(cell) + 1
    if len(row) < factors:
        end = Place(place.file, place.line, len(line) + 1, line)
        raise InputError(f"this run has {len(row)} entries for {factors} factors", place=end)
    return row


def _json_row(row: object, i: int, factors: int, text: str, file: str) -> list[int]:
    if not isinstance(row, list) or len(row) != factors:
        raise InputError(f"this run is not a list of {factors} entries", place=_locate(text, ("matrix", i), file))
    for j, entry in enumerate(row):
        if type(entry) not in (int, float) or entry not in (-1, 1):
            here = _locate(text, ("matrix", i, j), file)
            raise InputError(f"{json.dumps(entry)[:20]} is not an entry of a design", place=here, fix=_ENTRY)
    return [int(entry) for entry in row]


def _built(factors: tuple[str, ...], rows: list[list[int]], place: Place) -> Design:
    try:
        if not 1 <= len(factors) <= MOST_FACTORS:
            raise InputError(
                f"a design has 1 to {MOST_FACTORS} factors, not {len(factors)}",
                fix="give a project options, or name --factors",
            )
        if not rows:
            raise InputError("this design has no runs")
        check_runs(len(rows))
        return Design("given", factors, np.array(rows, dtype=np.int8))
    except InputError as error:
        raise InputError(error.message, place=place, fix=error.fix) from error


def _line_of(text: str, number: int) -> str:
    lines = text.split("\n")
    return lines[number - 1] if number <= len(lines) else ""


def _locate(text: str, path: Sequence[str | int], file: str) -> Place:
    """The place in a text, known to be JSON, at which the value at that path begins."""
    # Each open container has its key or its position; the stack of these is the path of the next value.
    here: list[str | int] = []
    key: str | None = None
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word == ":" and here and isinstance(here[-1], str):
            here[-1] = json.loads(key or '""')
            continue
        if word == ",":
            if isinstance(here[-1], int):
                here[-1] += 1
            continue
        if word in "]}":
            here.pop()
            continue
        if here == list(path):
            line = text.count("\n", 0, token.start()) + 1
            column = token.start() - text.rfind("\n", 0, token.start())
            return Place(file, line, column, _line_of(text, line))
        key = word
        if word in "[{":
            here.append(0 if word == "[" else "")
    return Place(file)


LEVEL_FORMAT = "hati-level-design-1"


def write_level_csv(design: LevelDesign, settings: Sequence[Sequence[str]] | None = None) -> str:
    """A header of factors, and a line for every run: the settings' texts, or without these their positions from 0."""
    texts = settings or [[str(place) for place in range(size)] for size in design.sizes]
    rows = ([its[place] for its, place in zip(texts, row, strict=True)] for row in design.levels.tolist())
    return "".join(_line(row) for row in (design.names, *rows))


def _line(fields: Iterable[str]) -> str:
    return ",".join(_quoted(text) for text in fields) + "\n"


_USUAL_ORDER = 3
_MOST_LISTED = 1_000_000
_MOST_WORDS = 5_000


class DesignDescription(Struct, frozen=True):
    """All that is known of a design, from its matrix alone.

    ``aliases`` names for every main effect, and for every two-factor interaction where the order is two or
    more, the effects up to ``alias_order`` that equal it, with a minus where it is their negative;
    ``partial_aliases`` the main effects' partial ones up to second order, with the mean of their product.
    ``words`` are all defining words, the shortest first, if there are at most 5,000 of them, otherwise only the
    shortest, where a search finds them; ``resolution`` is None for a full factorial.
    """

    kind: str
    runs: int
    factors: tuple[str, ...]
    generators: tuple[str, ...]
    resolution: float | None
    word_length_pattern: dict[str, float]
    words: list[str]
    alias_order: int
    aliases: dict[str, list[str]]
    partial_aliases: dict[str, dict[str, float]]
    clear_interactions: list[str]
    matrix: list[list[int]]


def describe(design: Design, alias_order: int | None = None) -> DesignDescription:
    """All that is known of a design; the alias order defaults to three, or less to list at most a million.

    Raises:
        InputError: for an order below one, or one whose listing would be too long.
    """
    between = separator_of(design.factors)
    order = _usual_order(len(design.factors), design.runs) if alias_order is None else alias_order
    if order < 1:
        raise InputError(f"an alias order of {order} leaves nothing to list", fix="use 1 or more")
    if _listed(len(design.factors), design.runs, order) > _MOST_LISTED and alias_order is not None:
        raise InputError(f"the aliases up to order {order} are too many to list", fix="use a lower --alias-order")
    pattern = word_length_pattern(design)
    return DesignDescription(
        design.kind,
        design.runs,
        design.factors,
        design.generators,
        resolution=min(pattern, default=None),
        word_length_pattern={str(length): count for length, count in pattern.items()},
        words=[_signed(effect_name(word.factors, between), word.sign) for word in _words(design)],
        alias_order=order,
        aliases=_aliases(design, order, between),
        partial_aliases=_partial_aliases(design, min(order, 2), between),
        clear_interactions=[effect_name(pair, between) for pair in clear_interactions(design)],
        matrix=design.matrix.tolist(),
    )


def _words(design: Design) -> Iterable[Word]:
    """The group generated by the factors outside the base: each equals a product of base factors up to its sign."""
    geometry = hull(design)
    free = len(design.factors) - geometry.rank
    if 2**free - 1 > _MOST_WORDS:
        return shortest_words(design)
    found: list[frozenset[int]] = [frozenset()]
    for j in set(range(len(design.factors))) - set(geometry.base):
        generator = {j, *(base for i, base in enumerate(geometry.base) if geometry.columns[j] >> i & 1)}
        found += [word ^ generator for word in found]
    ordered = sorted((tuple(sorted(word)) for word in found if word), key=lambda word: (len(word), word))
    return (Word(tuple(design.factors[j] for j in word), geometry.sign(word)) for word in ordered)


def _aliases(design: Design, order: int, between: str) -> dict[str, list[str]]:
    geometry = hull(design)
    sets = groups(geometry, order)

    def name(effect: Indices) -> str:
        return effect_name((design.factors[j] for j in effect), between)

    listed = [(effect, group) for group in sets.values() for effect in group if len(effect) <= 2]
    return {
        name(effect): [
            _signed(name(other), geometry.sign(effect) * geometry.sign(other)) for other in group if other != effect
        ]
        for effect, group in sorted(listed, key=lambda pair: (len(pair[0]), pair[0]))
    }


def _partial_aliases(design: Design, order: int, between: str) -> dict[str, dict[str, float]]:
    found = {
        factor: {
            effect_name(alias.factors, between): alias.coefficient
            for alias in partial_aliases(design, (factor,), order)
        }
        for factor in design.factors
    }
    return {factor: partial for factor, partial in found.items() if partial}


def _signed(name: str, sign: int) -> str:
    return name if sign > 0 else f"-{name}"


def _listed(factors: int, runs: int, order: int) -> int:
    """The approximate number of aliases to list: effects, times those that share a column with each."""
    effects = sum(comb(factors, size) for size in range(1, order + 1))
    keys = sum(comb(factors, size) for size in range(1, min(order, 2) + 1))
    return max(effects, keys * effects // runs)


def _usual_order(factors: int, runs: int) -> int:
    return next((k for k in range(_USUAL_ORDER, 1, -1) if _listed(factors, runs, k) <= _MOST_LISTED), 1)


class EstimabilityJson(Struct, frozen=True):
    """What runs can estimate: the number of parameters, and the effects that no other up to the order hides."""

    runs: int
    parameters: Annotated[int, Of("rank")]
    estimable: Annotated[list[list[str]], Of("effects")]


class SeparationJson(Struct, frozen=True):
    """What added runs separate."""

    order: Annotated[int, Of("after.order")]
    before: EstimabilityJson
    after: EstimabilityJson
    separated: list[list[str]]


class BlocksJson(Struct, frozen=True):
    """The blocks of a design: their number, generators, the block of each run, and the effects that they hide.

    ``explained`` is the largest part of the variance of a main effect, and of an interaction of two, that balanced
    blocks explain.
    """

    number: int
    generators: list[str]
    of_runs: list[int]
    confounded: list[list[str]]
    lost: list[list[str]]
    explained: Annotated[
        tuple[float, float] | UnsetType, Of(lambda blocks: UNSET if blocks.explained is None else blocks.explained)
    ] = UNSET


class DesignJson(DesignDescription, frozen=True, kw_only=True, tag_field="format", tag=DESIGN_FORMAT):
    """A two-level design, with its additions and blocks."""

    separation: SeparationJson | UnsetType = UNSET
    blocks: BlocksJson | UnsetType = UNSET


class LevelDesignJson(Struct, frozen=True, tag_field="format", tag=LEVEL_FORMAT):
    """An orthogonal array: the positions of settings from 0, and what they say."""

    kind: str
    factors: Annotated[list[str], Of("names")]
    sizes: list[int]
    levels: list[list[int]]
    runs: int
    distinct: int
    strength: int
    unbalanced: list[str]
    correlated: list[tuple[str, str]]
    d_efficiency: float
    settings: dict[str, list[Setting]]


class OptimalDesignJson(Struct, frozen=True, tag_field="format", tag="hati-optimal-design-1"):
    """An optimal design: the value of its criterion, what it estimates and how well, and its runs."""

    criterion: Criterion
    value: float
    d_efficiency: float
    parameters: int
    terms: list[str]
    potential: list[str]
    reduced: list[str]
    dropped: list[str]
    largest_standard_error: float
    standard_errors: dict[str, float]
    seconds: float
    augmented: Annotated[int, Of("fixed")]
    runs: list[Configuration]


class CoveringArrayJson(Struct, frozen=True, tag_field="format", tag="hati-covering-array-1"):
    """A covering array: its strength, the combinations of settings that are valid, and its runs.

    ``fractions`` are the shares of the valid combinations that the runs up to each have covered.
    """

    strength: int
    valid: Annotated[int, Of("coverage.valid")]
    invalid: Annotated[int, Of("coverage.invalid")]
    covered: Annotated[int, Of("coverage.covered")]
    augmented: Annotated[int, Of("fixed")]
    fractions: list[float]
    runs: Annotated[list[Configuration], Of(lambda array: list(from_levels(array.levels, array.space)))]


_MOST_ROWS = 128
_MOST_NAMED = 12
_MOST_COMBINATIONS = 0.9


def design_table(design: Design, alias_order: int | None) -> Table:
    """The matrix as a table, with the properties and the main effects' aliases as notes."""
    known = properties(design)
    rows: list[tuple[Cell, ...]] = [
        (number, *("+" if entry > 0 else "-" for entry in row))
        for number, row in enumerate(design.matrix[:_MOST_ROWS].tolist(), 1)
    ]
    columns = (Column("run", None, Align.RIGHT), *(Column(factor) for factor in design.factors))
    left_out = known.runs - len(rows)
    more = (f"{left_out:,} more runs are not listed; --format csv has all.",) if left_out else ()
    return Table(f"Design: {design.kind}", columns, tuple(rows), (*more, *_notes(design, alias_order)))


def _notes(design: Design, alias_order: int | None) -> tuple[str, ...]:
    known, description = properties(design), describe(design, alias_order)
    resolution = roman(int(known.resolution)) if known.resolution else "full: nothing is aliased"
    flaws = [
        name
        for name, good in (("balanced", known.balanced), ("orthogonal", known.orthogonal), ("regular", known.regular))
        if not good
    ]
    pattern = ", ".join(f"A{length} = {_count(count)}" for length, count in description.word_length_pattern.items())
    clear = description.clear_interactions
    shortest = description.words[: len(shortest_words(design))]
    notes = [
        f"{known.factors} factors in {known.runs:,} runs; resolution {resolution}.",
        *((f"Not {' and not '.join(flaws)}.",) if flaws else ()),
        *((f"Word-length pattern: {pattern}.",) if pattern else ()),
        *((f"Shortest words: {_some(shortest)}.",) if shortest else ()),
        f"Clear two-factor interactions: {len(clear)}{f' ({_some(clear)})' if clear else ''}.",
    ]
    largest = _largest_part(description.partial_aliases, set(design.factors))
    notes += (
        [f"Main effects are aliased in part with two-factor interactions, by at most {largest:.2g}."] if largest else []
    )
    aliases = {effect: others for effect, others in description.aliases.items() if effect in design.factors}
    notes += [f"{effect} = {_some(others, ' = ')}" for effect, others in aliases.items() if others]
    return tuple(notes)


def _count(count: int | float) -> str:
    return f"{count:.2f}" if isinstance(count, float) else str(count)


def _largest_part(aliases: Mapping[str, Mapping[str, float]], mains: set[str]) -> float:
    parts = (part for partial in aliases.values() for name, part in partial.items() if name not in mains)
    return max(map(abs, parts), default=0.0)


def _some(names: list[str], between: str = ", ") -> str:
    rest = len(names) - _MOST_NAMED
    return between.join(names[:_MOST_NAMED]) + (f"{between}{rest:,} more" if rest > 0 else "")


_MOST_LEVEL_ROWS = 144


def separation_note(separation: Separation) -> str:
    """The effects that added runs separate, in one sentence."""
    before, after, names = separation.before, separation.after, _named(separation.separated)
    kept = f"{after.runs - before.runs:,} added runs"
    parameters = f"{before.rank} parameters could be distinguished, now {after.rank}"
    separated = (
        f"separate {len(separation.separated)} effects: {names}" if names else "separate no effect from all others"
    )
    return f"The {kept} {separated}. Of effects up to order {after.order}, {parameters}."


def blocks_notes(blocks: Blocks) -> tuple[str, ...]:
    """How the blocks were formed, and which effects they hide or explain."""
    if blocks.explained is not None:
        main, pair = (percent(part, 2) for part in blocks.explained)
        sizes = sorted({blocks.of_runs.count(block) for block in blocks.of_runs})
        return (
            f"{blocks.number} balanced blocks of {' or '.join(map(str, sizes))} runs.",
            f"Blocks explain at most {main} of the variance of a main effect, and {pair} of an interaction of two.",
        )
    pairs = [effect for effect in blocks.confounded if len(effect) == 2]
    triples = [effect for effect in blocks.confounded if len(effect) == 3]
    size = len(blocks.of_runs) // blocks.number
    two = f"of two factors {_named(pairs)}" if pairs else "no interaction of two factors"
    three = f"of three {_named(triples)}" if triples else "none of three"
    return (
        f"{blocks.number} blocks of {size} runs, by {', '.join(blocks.generators)}.",
        f"Blocks hide no main effect, {two}, {three}. Clear before and lost: {_named(blocks.lost) or 'none'}.",
    )


def level_design_table(design: LevelDesign, settings: Sequence[Sequence[str]], elsewhere: str = "") -> Table:
    """The runs as a table of settings, with the levels' properties as notes; ``elsewhere`` names other sizes."""
    rows: list[tuple[Cell, ...]] = [
        (number, *(its[place] for its, place in zip(settings, row, strict=True)))
        for number, row in enumerate(design.levels[:_MOST_LEVEL_ROWS].tolist(), 1)
    ]
    left_out = design.runs - len(rows)
    columns = (Column("run", None, Align.RIGHT), *(Column(name) for name in design.names))
    known = level_properties(design)
    notes = [
        f"{left_out:,} more runs are not listed; --format csv has all." if left_out else "",
        f"{known.factors} factors in {known.runs:,} runs, {known.distinct:,} different; strength {known.strength}.",
        f"Not balanced: {', '.join(known.unbalanced)}; some settings occur twice as often as others."
        if known.unbalanced
        else "",
        _orthogonality(known.correlated),
        f"D-efficiency of the main effects: {known.d_efficiency:.3f}.",
        elsewhere,
    ]
    return Table(f"Design: {design.kind}", columns, tuple(rows), tuple(note for note in notes if note))


def covering_table(array: CoveringArray) -> Table:
    """All runs as a table of settings, with their coverage as notes."""
    rows: list[tuple[Cell, ...]] = [
        tuple(setting_text(run[name]) if name in run else "" for name in array.space.names)
        for run in from_levels(array.levels, array.space)
    ]
    return Table(
        f"Covering array of strength {array.strength}: {array.runs:,} runs",
        tuple(Column(name) for name in array.space.names),
        tuple(rows),
        tuple(_covering_notes(array)),
    )


def _covering_notes(array: CoveringArray) -> Iterator[str]:
    known = array.coverage
    if array.fixed:
        rest = known.valid - array.given.covered
        yield f"The first {array.fixed:,} runs were given; they lack {rest:,} of the valid combinations."
    yield (
        f"The runs have all {known.valid:,} valid combinations of the settings of {known.strength} options."
        if known.complete
        else f"The runs have {known.covered:,} of {known.valid:,} valid combinations."
    )
    if known.invalid:
        yield f"No valid configuration has the other {known.invalid:,}."
    half = next((place for place, part in enumerate(array.fractions, 1) if part >= _MOST_COMBINATIONS), array.runs)
    if half < array.runs:
        yield f"The first {half:,} runs have {percent(_MOST_COMBINATIONS)} of them."


def _orthogonality(correlated: Sequence[tuple[str, str]]) -> str:
    if not correlated:
        return "All main effects are orthogonal to each other."
    return f"Main effects that are not orthogonal to each other: {_named(correlated)}."


def _named(effects: Sequence[Sequence[str]]) -> str:
    short = all(len(factor) == 1 for effect in effects for factor in effect)
    names = [("" if short else ":").join(effect) for effect in effects]
    return listed(names, _MOST_NAMED)
