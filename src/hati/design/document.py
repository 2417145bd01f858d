"""Designs as tables: runs and properties, with those of foldovers, blocks, orthogonal and covering arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from hati.core import Configuration, Setting, setting_text
from hati.core.wording import listed
from hati.design import (
    DESIGN_FORMAT,
    LEVEL_FORMAT,
    Blocks,
    CoveringArray,
    Criterion,
    Design,
    DesignDescription,
    LevelDesign,
    Separation,
    describe,
    from_levels,
    level_properties,
    properties,
    shortest_words,
)
from hati.document.document import Align, Cell, Column, Table, percent, roman
from hati.document.publishing import Of


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
