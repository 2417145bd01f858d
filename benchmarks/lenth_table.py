"""Write src/hati/stats/lenth_table.py: the distributions of contrasts divided by their adaptive standard error.

``python -m benchmarks.lenth_table`` takes some minutes. The numbers of contrasts are those of designs of
4, 8, ..., 1,024 runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hati.stats import lenth_table
from hati.stats.lenth import Tail, simulated_reference

DRAWS = 200_000

HEAD = '''"""Quantiles of |contrast| / adaptive standard error over m contrasts when no effect is active.

Made by benchmarks/lenth_table.py: {draws:,} simulated studies for each m, seed 1989.
"""

# fmt: off
PROBABILITIES = {probabilities}
"""The probabilities with which the quantiles are exceeded, as far as they were simulated."""
'''


def wrapped(numbers: Sequence[str], indent: str) -> str:
    lines = [numbers[i : i + 12] for i in range(0, len(numbers), 12)]
    return "(\n" + "".join(f"{indent}    {', '.join(line)},\n" for line in lines) + f"{indent})"


def listed(name: str, meaning: str, tails: dict[int, Tail]) -> str:
    rows = [f"    {m}: {wrapped([f'{value:.4f}' for value in tail.values], '    ')},\n" for m, tail in tails.items()]
    return f'\n{name}: dict[int, tuple[float, ...]] = {{\n{"".join(rows)}}}\n"""{meaning}"""\n'


def module() -> str:
    references = {m: simulated_reference(m, DRAWS) for m in (2**exponent - 1 for exponent in range(2, 11))}
    text = HEAD.format(draws=DRAWS, probabilities=wrapped([repr(p) for p in lenth_table.PROBABILITIES], ""))
    text += listed("LARGEST", "Of the largest of all m.", {m: found.largest for m, found in references.items()})
    text += listed("SINGLE", "Of any one of m.", {m: found.single for m, found in references.items()})
    return text + "# fmt: on\n"


if __name__ == "__main__":
    Path(lenth_table.__file__).write_text(module(), encoding="utf-8")
