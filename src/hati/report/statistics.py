"""Which statistic stands for a run, and why, in sentences and as plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Struct

from hati.report.publishing import Of
from hati.report.quantities import percent
from hati.studies.comparison import (
    MEAN,
    TAIL_PART,
    ChoiceBasis,
    Comparison,
    Comparisons,
    StatisticChoice,
)


def statistic_name(row: Comparison) -> str:
    """The name of the one that is compared."""
    return (MEAN if row.choice is None else row.choice.statistic).title


def statistics_text(found: Comparisons) -> str:
    """What each run counts as."""
    names = dict.fromkeys(found.statistic if row.choice is None else row.choice.statistic.title for row in found.rows)
    *most, last = names
    return f"its {', '.join(most)} or {last}" if most else f"its {last}"


def statistic_notes(rows: Sequence[Comparison]) -> list[str]:
    """Why each statistic was chosen, where it was."""
    groups: dict[tuple[str, ChoiceBasis], list[StatisticChoice]] = defaultdict(list)
    for row in rows:
        if row.choice is not None and not _asked(row):
            groups[statistic_name(row), row.choice.basis].append(row.choice)
    notes = [_note(name, choices, len(rows)) for (name, _), choices in groups.items()]
    if any(choice.keeps_mean for choices in groups.values() for choice in choices):
        notes.append(
            f"The mean relative to it is tested too, with {percent(TAIL_PART)} of alpha: a change of that alone is"
            " marked (tail)."
        )
    return notes


class ChoiceJson(Struct, frozen=True):
    """A chosen statistic, with the version of its rule."""

    statistic: Annotated[str, Of(lambda choice: str(choice.statistic))]
    basis: ChoiceBasis
    sources: int
    spread: float | None
    version: int


def chosen(row: Any) -> StatisticChoice | None:
    """How a comparison's statistic was chosen; None where the user chose it."""
    return None if row.choice is None or _asked(row) else row.choice


def _asked(row: Comparison) -> bool:
    return row.choice is None or row.choice.basis is ChoiceBasis.ASKED


def _note(name: str, choices: list[StatisticChoice], rows: int) -> str:
    number = len(choices)
    of = "" if number == rows else f" of {number} comparison{'' if number == 1 else 's'}"
    middle = sorted(choices, key=lambda choice: choice.spread or 0.0)[number // 2]
    return f"Statistic{of} (auto, version {middle.version}): {name}; {middle.reason}."
