"""Effects at two revisions as a document, a table and plain values."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hati.core import Setting, setting_text
from hati.core.wording import counted
from hati.document.document import Document, Shown, Table, change, columns_of, general, p_text, percent
from hati.document.publishing import Interval, Joined, Of, StudyJson
from hati.studies.effect_drift import EffectDrift, OptionDrift


class OptionDriftJson(Struct, frozen=True):
    """The effect of an option at both revisions, as fractions."""

    options: Annotated[list[str], Of(lambda one: [one.option])]
    settings: tuple[Setting, Setting]
    before: float
    after: float
    difference: float
    difference_interval: Interval
    ratio: float | None
    interval: Interval | None
    p_value: float
    changed: bool
    alpha: float
    benchmark: str
    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    revisions: Annotated[tuple[str, str], Of(lambda one: (one.reference.id, one.revision.id))]
    rounds: int
    study: str


class DriftJson(StudyJson, frozen=True, tag_field="format", tag="hati-compare-effects-1"):
    """The effects of options at two revisions, the most significant change first."""

    effects: Annotated[list[OptionDriftJson], Of(lambda found: [Joined(one, found) for one in found.options])]


def drift_table(found: EffectDrift) -> Table:
    """A row for each option."""
    columns = columns_of("option | > before | > after | > times | > interval | > p | verdict")
    rows = tuple(
        (
            f"{one.option}={setting_text(one.settings[1])}",
            Shown(change(one.before), one.before),
            Shown(change(one.after), one.after),
            None if one.ratio is None else Shown(general(one.ratio, 3), one.ratio),
            None if one.interval is None else f"{general(one.interval[0], 3)} to {general(one.interval[1], 3)}",
            Shown(p_text(one.p_value), one.p_value),
            "changed" if one.changed else "not shown",
        )
        for one in found.options
    )
    title = f"Effects on {found.metric.name}: {found.revision} against {found.reference}"
    return Table(title, columns, rows, tuple(_notes(found)))


def _notes(found: EffectDrift) -> list[str]:
    notes = [
        f"{counted(found.configurations, 'configuration')} in {counted(found.rounds, 'round')} at both revisions. The "
        f"effect of a setting compared with the option's other one; times: the effect after over that before, "
        f"of logarithms, where the one before is shown. Changed: at {percent(found.alpha)} for all options together.",
    ]
    widths = [(one.difference_interval[1] - one.difference_interval[0]) / 2.0 for one in found.options]
    if widths:
        notes.append(f"A change of an effect by {general(100.0 * max(widths), 2)} % or more would mostly be seen.")
    if found.unestimable:
        notes.append(f"Not distinguishable from others: {', '.join(found.unestimable)}.")
    return notes


def _sentence(one: OptionDrift) -> str:
    if one.ratio is not None and one.ratio > 0.0:
        return f"{one.option}: effect {general(one.ratio, 2)} times what it was"
    return f"{one.option}: effect {change(one.after)} after {change(one.before)}"


def drift_document(found: EffectDrift) -> Document:
    """Which options' effects changed between two revisions."""
    changed = [one for one in found.options if one.changed]
    return Document(
        f"Effects on {found.metric.name}: {found.revision} against {found.reference}",
        f"{'; '.join(map(_sentence, changed)) or 'No effect is shown to have changed'}.",
        sections=(drift_table(found),),
        failures=tuple(f"{found.failed} of {found.done + found.failed} runs: {why}" for why in found.failures[:1]),
        study=found.study,
    )
