"""Suspect runs of a screening: which were repeated, and what the analysis says without the others."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core.wording import counted, listed
from hati.report.plain import Plain
from hati.report.quantities import quantity
from hati.report.table import Align, Column, Shown, Table
from hati.studies.screening import ScreeningConclusion, SuspectRun


def suspects_table(conclusion: ScreeningConclusion) -> Table | None:
    """The suspect runs with their configurations and values; None where there are none."""
    if not conclusion.suspects:
        return None
    unit = conclusion.metric.unit
    notes = ["A suspect run is far from what the others say of its configuration (1 % over all runs together)."]
    if any(each.used is not None for each in conclusion.suspects):
        notes.append("Fresh: runs of the same configuration. Used: the median of the three.")
    if conclusion.robust is not None:
        notes.append(
            "Not repeated. A robust fit is shown next to the analysis of all runs, with the values that the other "
            "runs predict."
        )
    right = Align.RIGHT
    return Table(
        f"Suspect runs of {conclusion.metric.name}",
        (
            Column("run", None, right),
            Column("value", None, right),
            Column("fresh", None, right),
            Column("used", None, right),
            Column("configuration"),
        ),
        tuple(
            (
                each.order + 1,
                _shown([each.value], unit),
                _shown(each.fresh, unit) if each.fresh else None,
                Shown("not repeated", None) if each.used is None else _shown([each.used], unit),
                str(each.configuration),
            )
            for each in conclusion.suspects
        ),
        tuple(notes),
    )


def suspects_sentence(conclusion: ScreeningConclusion) -> str:
    """How many runs were suspect, and where a robust fit differs; empty where there were none."""
    again = [each for each in conclusion.suspects if each.used is not None]
    left = len(conclusion.suspects) - len(again)
    parts = []
    if again:
        verb, its = ("was", "its") if len(again) == 1 else ("were", "their")
        parts.append(f"{counted(len(again), 'suspect run')} {verb} repeated, and the median used in {its} place.")
    if left:
        parts.append(f"{counted(left, 'run')} {'is' if left == 1 else 'are'} suspect: {_differences(conclusion)}.")
    return " ".join(parts)


def suspects_json(conclusion: ScreeningConclusion) -> list[Plain]:
    """The suspect runs; ``used`` is null where a run was not repeated."""
    return [_suspect(each) for each in conclusion.suspects]


def robust_json(conclusion: ScreeningConclusion) -> dict[str, Plain] | None:
    """What the robust fit shows; null where no run is suspect that was not repeated."""
    found = conclusion.robust
    if found is None:
        return None
    return {"shown": list(found.shown), "added": list(found.added), "lost": list(found.lost), "differs": found.differs}


def _differences(conclusion: ScreeningConclusion) -> str:
    found = conclusion.robust
    if found is None or not found.differs:
        return "a robust fit shows the same options"
    parts = []
    if found.added:
        parts.append(f"a robust fit also shows {listed(found.added, 4)}")
    if found.lost:
        parts.append(f"{'it' if found.added else 'a robust fit'} does not show {listed(found.lost, 4)}")
    return ", and ".join(parts)


def _suspect(found: SuspectRun) -> dict[str, Plain]:
    return {
        "order": found.order,
        "configuration": dict(found.configuration.items()),
        "value": found.value,
        "fresh": list(found.fresh),
        "used": found.used,
    }


def _shown(values: Sequence[float], unit: str) -> Shown:
    text = ", ".join(quantity(value, unit, 3) for value in values)
    return Shown(text, values[0] if len(values) == 1 else text)
