"""Designs as tables: their properties, their runs, and what foldovers, blocks and orthogonal arrays are good for."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core.wording import listed
from hati.design import Blocks, Design, LevelDesign, Separation, describe, level_properties, properties, shortest_words
from hati.report.screening_words import roman
from hati.report.table import Align, Cell, Column, Table

_MOST_ROWS = 128
_MOST_NAMED = 12


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
    known, told = properties(design), describe(design, alias_order)
    resolution = roman(int(known.resolution)) if known.resolution else "full: nothing is aliased"
    flaws = [
        name
        for name, good in (("balanced", known.balanced), ("orthogonal", known.orthogonal), ("regular", known.regular))
        if not good
    ]
    pattern = ", ".join(f"A{length} = {_count(count)}" for length, count in _items(told["word_length_pattern"]))
    clear = _list(told["clear_interactions"])
    shortest = _list(told["words"])[: len(shortest_words(design))]
    notes = [
        f"{known.factors} factors in {known.runs:,} runs; resolution {resolution}.",
        *((f"Not {' and not '.join(flaws)}.",) if flaws else ()),
        *((f"Word-length pattern: {pattern}.",) if pattern else ()),
        *((f"Shortest words: {_some(shortest)}.",) if shortest else ()),
        f"Clear two-factor interactions: {len(clear)}{f' ({_some(clear)})' if clear else ''}.",
    ]
    largest = _largest_part(told["partial_aliases"], set(design.factors))
    notes += (
        [f"Main effects are aliased in part with two-factor interactions, by at most {largest:.2g}."] if largest else []
    )
    aliases = {effect: _list(others) for effect, others in _items(told["aliases"]) if effect in design.factors}
    notes += [f"{effect} = {_some(others, ' = ')}" for effect, others in aliases.items() if others]
    return tuple(notes)


def _count(count: object) -> str:
    return f"{count:.2f}" if isinstance(count, float) else str(count)


def _largest_part(told: object, mains: set[str]) -> float:
    parts = [pair for _, partial in _items(told) for pair in _items(partial) if pair[0] not in mains]
    return max((abs(part) for _, part in parts if isinstance(part, float)), default=0.0)


def _some(names: list[str], between: str = ", ") -> str:
    rest = len(names) - _MOST_NAMED
    return between.join(names[:_MOST_NAMED]) + (f"{between}{rest:,} more" if rest > 0 else "")


def _items(value: object) -> list[tuple[str, object]]:
    return list(value.items()) if isinstance(value, dict) else []


def _list(value: object) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else []


_MOST_LEVEL_ROWS = 144


def separation_note(separation: Separation) -> str:
    """What added runs separate, in one sentence."""
    before, after, names = separation.before, separation.after, _named(separation.separated)
    kept = f"{after.runs - before.runs:,} added runs"
    told = f"{before.rank} parameters could be distinguished, now {after.rank}"
    separated = (
        f"separate {len(separation.separated)} effects: {names}" if names else "separate no effect from all others"
    )
    return f"The {kept} {separated}. Of effects up to order {after.order}, {told}."


def blocks_notes(blocks: Blocks) -> tuple[str, ...]:
    """How the blocks were made, and what they cost."""
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
    """The runs as a table of settings, with what the levels say as notes; ``elsewhere`` tells of other sizes."""
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
        f"Not balanced: {', '.join(known.unbalanced)}; some settings are there twice as often as others."
        if known.unbalanced
        else "",
        _orthogonality(known.correlated),
        f"D-efficiency of the main effects: {known.d_efficiency:.3f}.",
        elsewhere,
    ]
    return Table(f"Design: {design.kind}", columns, tuple(rows), tuple(note for note in notes if note))


def _orthogonality(correlated: Sequence[tuple[str, str]]) -> str:
    if not correlated:
        return "All main effects are orthogonal to each other."
    return f"Main effects that are not orthogonal to each other: {_named(correlated)}."


def _named(effects: Sequence[Sequence[str]]) -> str:
    short = all(len(factor) == 1 for effect in effects for factor in effect)
    names = [("" if short else ":").join(effect) for effect in effects]
    return listed(names, _MOST_NAMED)
