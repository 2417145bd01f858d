"""What foldovers, blocks and orthogonal arrays are good for, as notes and tables."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core.wording import listed
from hati.design import Blocks, LevelDesign, Separation, level_properties
from hati.report.table import Align, Cell, Column, Table

_MOST_ROWS = 144
_MOST_NAMED = 12


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
        for number, row in enumerate(design.levels[:_MOST_ROWS].tolist(), 1)
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
