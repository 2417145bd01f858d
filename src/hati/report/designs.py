"""A design as a table: its properties from the matrix, then its runs."""

from __future__ import annotations

from hati.design import Design, describe, properties, shortest_words
from hati.report.table import Align, Cell, Column, Table
from hati.report.words import roman

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
