"""Makes src/hati/stats/lenth_table.py: the distribution of Lenth's largest statistic, by simulation.

``python -m benchmarks.lenth_table`` takes about a minute. The numbers of contrasts are those of designs of
4, 8, ..., 1,024 runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hati.stats import lenth_table
from hati.stats.lenth import simulated_reference

DRAWS = 1_000_000

HEAD = '''"""Quantiles of Lenth's largest statistic, max |contrast| / PSE over m contrasts when no effect is active.

Made by benchmarks/lenth_table.py: {draws:,} simulated studies for each m, seed 1989.
"""

# fmt: off
PROBABILITIES = {probabilities}
"""The probabilities with which the quantiles are exceeded."""

QUANTILES: dict[int, tuple[float, ...]] = {{
'''


def wrapped(numbers: Sequence[str], indent: str) -> str:
    lines = [numbers[i : i + 12] for i in range(0, len(numbers), 12)]
    return "(\n" + "".join(f"{indent}    {', '.join(line)},\n" for line in lines) + f"{indent})"


def module() -> str:
    text = HEAD.format(draws=DRAWS, probabilities=wrapped([repr(p) for p in lenth_table.PROBABILITIES], ""))
    for m in (2**exponent - 1 for exponent in range(2, 11)):
        values = simulated_reference(m, DRAWS).values
        text += f"    {m}: {wrapped([f'{value:.4f}' for value in values], '    ')},\n"
    return text + "}\n# fmt: on\n"


if __name__ == "__main__":
    Path(lenth_table.__file__).write_text(module(), encoding="utf-8")
