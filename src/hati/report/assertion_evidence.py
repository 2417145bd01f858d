"""What a formula's verdict rests on, with how run means are spread, as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray
from hati.report.assertion import estimate_text, interval_text, named_formula, undecided_text
from hati.report.changes import p_text
from hati.report.quantities import quantity
from hati.studies.assertion import Answer, Atom, Book, run_means

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 32
"""How many bars a histogram has."""

_LONGEST = 40


def assertion_evidence(each: Answer, book: Book) -> str:
    """The formula, and of each of its relations the verdict, the numbers and a histogram of both sides' run means."""
    head = [f"{each.verdict}: {named_formula(each)}", f"  at {each.requirement.place}"]
    return "\n".join([*head, *(line for atom in each.atoms for line in ("", *_atom(atom, book)))])


def spark(values: FloatArray, low: float, high: float, width: int = WIDTH) -> str:
    """A histogram in a line: ``width`` bars from ``low`` to ``high``, the highest where most values are.

    >>> spark(np.array([1.0, 1.0, 2.0, 4.0]), 1.0, 4.0, 4)
    '█▄ ▄'
    """
    counts, _ = np.histogram(values, bins=width, range=(low, high if high > low else low + abs(low or 1.0)))
    top = max(int(counts.max()), 1)
    return "".join(BARS[-(-int(count) * len(BARS) // top) - 1] if count else " " for count in counts)


def _atom(atom: Atom, book: Book) -> list[str]:
    found = atom.evidence
    runs = " + ".join(str(size) for size in found.runs if size) or "0"
    noun = "run" if runs == "1" else "runs"
    lines = [
        f"{atom.text}: {atom.verdict}",
        f"  estimate {estimate_text(atom)}, interval {interval_text(atom)}, {runs} {noun}, "
        f"p = {p_text(found.p_violated)} were it to hold, {p_text(found.p_holds)} were it violated",
    ]
    if sentence := undecided_text(atom):
        lines.append(f"  {sentence}")
    if atom.is_told_by(book):
        sides = run_means(atom.resolved, book)
        names = (str(atom.relation.left), str(atom.relation.right))
        lines += _histograms(names, sides, atom.unit)
    return lines


def _histograms(names: Sequence[str], sides: Sequence[FloatArray], unit: str) -> list[str]:
    """A line for each side on one scale, with its median."""
    pooled = np.concatenate(sides)
    low, high = float(pooled.min()), float(pooled.max())
    shown = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    broad = max(map(len, shown))
    lines = [
        f"  {name:<{broad}} |{spark(side, low, high)}| {quantity(float(np.median(side)), unit)}"
        for name, side in zip(shown, sides, strict=True)
    ]
    ends = (quantity(low, unit), quantity(high, unit))
    return [*lines, f"  {'':<{broad}}  {ends[0]}{ends[1]:>{max(WIDTH - len(ends[0]), len(ends[1]) + 1)}}"]
