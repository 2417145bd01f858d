"""A regression check in a sentence, as tables, as plain values, and as a document with its verdicts as test cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from hati.core import Configuration, Finding, RevisionKind, Setting, setting_text
from hati.core.wording import counted, listed
from hati.document.document import (
    Brief,
    Case,
    Cell,
    Column,
    Document,
    Folded,
    Shown,
    Table,
    change,
    columns_of,
    p_text,
    percent,
    quantity,
)
from hati.document.publishing import Interval, Joined, Of, RunsJson, Settings, StudyJson
from hati.stats.sign_bets import MOST_ROUNDS
from hati.studies.comparison import ChangeVerdict, Comparison
from hati.studies.comparison.conclusion import (
    WITH_POWER,
    interval_text,
    p_cell,
    statistic_notes,
    verdict_text,
    wide_interval_notes,
)
from hati.studies.comparison.document import ComparedJson, SideJson, booked, comparison_sentence
from hati.studies.findings import Report, ReportJson, Ruling, report_sentence
from hati.studies.gate import AffectedOption, Broken, GateConclusion, RivalCauses, WarmUpCut
from hati.studies.harness_changes import HarnessChange
from hati.studies.known import CoverageJson, coverage_notes, partial_coverage
from hati.studies.recalibration import Recalibration
from hati.studies.recalibration.document import RecalibrationJson, recalibration_sentence

_MOST_OF_TWO_STAGES = 10_000
"""The most rounds of two stages for which it is computed whether they decide."""
_FEWEST_ROUNDS = 2
"""Fewer rounds estimate no noise, and so no number of rounds."""


def gate_answer(ruling: Ruling) -> str:
    """The worst verdict that is not a known finding, with its largest change: size and place.

    It begins with the number of configurations measured, if nothing is known about the others.
    """
    measured = partial_coverage(ruling.gate.coverage)
    return f"{measured}: {_answer(ruling)}" if measured else _answer(ruling)


def _answer(ruling: Ruling) -> str:
    if ruling.broken:
        works = "works" if len(ruling.broken) == 1 else "work"
        return f"cannot be measured: {_places(ruling.broken)} {works} at the reference alone"
    known = ruling.known_slower
    already_known = f"; slower, already known: {', '.join(known)}" if known else ""
    return f"{_worst(ruling)}{already_known}"


def gate_verdict(ruling: Ruling) -> str:
    """The verdict in a few words, for a title."""
    if ruling.broken:
        return "not measured"
    if not ruling.known_slower or ruling.verdict is ChangeVerdict.SLOWER:
        return ruling.verdict.value
    return (
        "slower, as known" if ruling.verdict is ChangeVerdict.SAME else f"{ruling.verdict.value}, and slower as known"
    )


def _worst(ruling: Ruling) -> str:
    found = ruling.gate
    if ruling.verdict is ChangeVerdict.SLOWER:
        return f"slower: {_largest(found, ruling.slower)}"
    if ruling.verdict is ChangeVerdict.INCONCLUSIVE:
        left = [row for row in found.rows if row.change.verdict is ChangeVerdict.INCONCLUSIVE]
        which = _named(left[0]) if len(left) == 1 else f"{len(left)} of {len(found.rows)} comparisons"
        looking = [row for row in _all_rows(found) if _named(row) in found.suspected]
        return f"not decided: {which}{f'; looks changed: {_largest(found, looking)}' if looking else ''}"
    if ruling.verdict is ChangeVerdict.FASTER:
        faster = [row for row in _all_rows(found) if row.change.verdict is ChangeVerdict.FASTER]
        return f"faster: {_largest(found, faster)}"
    return "nothing else changed" if ruling.known_slower else f"the same, within {percent(found.question.margin)}"


def _largest(found: GateConclusion, rows: Sequence[Comparison]) -> str:
    """The largest change over all configurations, if one shows there; else in a stratum."""
    rows = [row for row in rows if not row.configuration] or rows
    by_size = sorted(rows, key=lambda row: -abs(math.log(row.change.ratio)) if row.change.ratio else -math.inf)
    return listed((f"{_named(row)}{_size(row)}{_because(found, row)}" for row in by_size), 1, "; ")


def _all_rows(found: GateConclusion) -> list[Comparison]:
    return [*found.rows, *(each.comparison for each in found.strata)]


def _places(broken: Sequence[Broken]) -> str:
    return listed((" ".join(filter(None, (each.benchmark, str(each.configuration)))) for each in broken), 1, "; ")


def _named(row: Comparison) -> str:
    where = f" where {row.configuration}" if row.configuration else ""
    return f"{row.metric.name} of {row.benchmark}{where}"


def _size(row: Comparison) -> str:
    moved = row.change
    if moved.ratio is None or moved.interval is None:
        return ""
    return f" {change(moved.ratio - 1.0)} ({interval_text(moved.interval)} %)"


def _because(found: GateConclusion, row: Comparison) -> str:
    """The settings with the largest change in the same direction, if it depends on any.

    For a stratum its size is left out: it is the one over all configurations.
    """
    most = found.most_affected(row)
    if most is None:
        return ""
    return f", most where {most.settings}" + ("" if row.configuration else f" ({change(most.ratio - 1.0)})")


class RevisionJson(Struct, frozen=True):
    """What a revision is and is called."""

    id: str
    kind: RevisionKind
    name: str
    title: str


class CheckedJson(ComparedJson, frozen=True):
    """A comparison of both revisions; ``known`` is the finding that has the change already."""

    before: SideJson
    after: SideJson
    known: str | None


class CheckedStratumJson(CheckedJson, frozen=True):
    """The same of the configurations that have these settings."""

    stratum: Annotated[Configuration, Of("stratum")]


class AffectedOptionJson(Struct, frozen=True):
    """An option's setting on which a change depends."""

    benchmark: str
    metric: str
    option: str
    setting: Setting
    ratio: float
    interval: Interval
    p_value: float
    where: Settings


class RivalCausesJson(Struct, frozen=True):
    """Explanations of a change that the configurations do not distinguish; none where no explanation is shown."""

    benchmark: str
    metric: str
    causes: list[str]


class BrokenJson(Struct, frozen=True):
    """A configuration that could not be measured; ``alone``: at this revision only."""

    benchmark: str
    configuration: Configuration
    revision: Annotated[str, Of("revision.id")]
    why: str
    alone: bool


class RoundsJson(Struct, frozen=True):
    """Rounds that explored, and that confirmed: none but in campaigns of earlier versions."""

    explored: int
    confirmed: int


class GateJson(StudyJson, frozen=True, kw_only=True, tag_field="format", tag="hati-check-1"):
    """A check of a revision against a reference.

    ``verdict`` is that of the measurement; ``fails`` says whether it stops the change, given the known findings.
    """

    verdict: Annotated[ChangeVerdict, Of("gate.verdict")]
    fails: bool
    reference: Annotated[RevisionJson, Of("gate.reference")]
    revision: Annotated[RevisionJson, Of("gate.revision")]
    benchmarks: Annotated[list[CheckedJson], Of(lambda ruling: [_row(row, ruling) for row in ruling.gate.rows])]
    strata: Annotated[
        list[CheckedStratumJson],
        Of(lambda ruling: [Joined(_row(each.comparison, ruling), each) for each in ruling.gate.strata]),
    ]
    options: Annotated[list[AffectedOptionJson], Of("gate.affected_options")]
    rival_causes: Annotated[list[RivalCausesJson], Of("gate.rival_causes")]
    findings: Annotated[list[ReportJson], Of(lambda ruling: [Joined(each.finding, each) for each in ruling.reports])]
    broken: Annotated[list[BrokenJson], Of("gate.broken")]
    unconfirmed: Annotated[list[str], Of("gate.unconfirmed")]
    suspected: Annotated[list[str], Of("gate.suspected")]
    rounds: Annotated[RoundsJson, Of("gate")]
    runs: Annotated[RunsJson, Of("gate")]
    seconds: Annotated[float, Of("gate.seconds")]
    study: Annotated[str, Of("gate.study")]
    warnings: Annotated[list[str], Of("gate.warnings")]
    coverage: Annotated[list[CoverageJson], Of("gate.coverage")]
    warm_up: Annotated[list[WarmUpCut], Of("gate.warm_ups")]
    harness_changed: Annotated[
        list[HarnessChange] | UnsetType, Of(lambda ruling: getattr(ruling, "harness_changed", ()) or None)
    ] = UNSET
    recalibration: Annotated[
        RecalibrationJson | UnsetType, Of(lambda ruling: getattr(ruling, "recalibration", None))
    ] = UNSET


def _row(row: Comparison, ruling: Ruling) -> Joined:
    known = ruling.known(row)
    return Joined(row, ruling.gate.question, clusters=(), known=known and known.id)


def gate_tables(ruling: Ruling) -> list[Table]:
    """A row for each benchmark and metric; then the changed strata, the affected options and the failed measurements.

    The last three tables are there only if they have rows.
    """
    found = ruling.gate
    tables = [_rows_table(ruling)]
    changed = [each for each in found.strata if each.comparison.change.changed]
    if changed:
        rows = tuple((str(each.stratum), *_cells(each.comparison, ruling)) for each in changed)
        tables.append(Table("Where it changed", (Column("stratum"), *_COLUMNS), rows, ()))
    if found.affected_options:
        tables.append(_affected_table(found.affected_options))
    if found.broken:
        columns = columns_of("benchmark | configuration | revision | why")
        listed = tuple(
            (each.benchmark, str(each.configuration), each.revision.short, each.why.splitlines()[0] if each.why else "")
            for each in found.broken
        )
        tables.append(Table("Not measured", columns, listed, ()))
    return tables


def gate_table(ruling: Ruling) -> Table | None:
    """The first rows whose verdict is not the same, the worst verdict first; None if there are none."""
    rows = [row for row in ruling.gate.rows if row.change.verdict is not ChangeVerdict.SAME]
    shown = sorted(rows, key=lambda row: _RANKS.index(row.change.verdict))[:_MOST]
    if not shown:
        return None
    cells = tuple((row.benchmark, *_cells(row, ruling)) for row in shown)
    left = len(rows) - len(shown)
    notes = (f"{left} more below.",) if left else ()
    return Table("Not the same", (Column("benchmark"), *_COLUMNS), cells, notes)


_MOST = 20
_RIVALS = 3
_RANKS = (ChangeVerdict.SLOWER, ChangeVerdict.INCONCLUSIVE, ChangeVerdict.FASTER)

_COLUMNS = columns_of("metric | > before | > after | > change | > interval (%) | > p | verdict")


def _rows_table(ruling: Ruling) -> Table:
    found = ruling.gate
    rows = tuple((row.benchmark, *_cells(row, ruling)) for row in found.rows)
    return Table(
        f"{found.revision} against {found.reference}: {gate_verdict(ruling)}",
        (Column("benchmark"), *_COLUMNS),
        rows,
        (
            *filter(None, (found.revision.caption, found.reference.caption)),
            *_notes(found),
            *(f"{report_sentence(one)}." for one in ruling.reports),
            *map(_unshown, ruling.unshown),
        ),
    )


def _unshown(finding: Finding) -> str:
    known = report_sentence(Report(finding, news=False, fails=False))
    return f"{known}; this check does not show it again."


def _cells(row: Comparison, ruling: Ruling) -> tuple[Cell, ...]:
    moved = row.change
    return (
        row.metric.name,
        Shown(quantity(row.before.mean, row.metric.unit), row.before.mean),
        Shown(quantity(row.after.mean, row.metric.unit), row.after.mean),
        None if moved.ratio is None else Shown(change(moved.ratio - 1.0), moved.ratio),
        "none yet" if moved.interval is None else interval_text(moved.interval),
        p_cell(moved),
        verdict_text(moved)
        if ruling.known(row) is None
        else Shown(f"{verdict_text(moved)}, known", moved.verdict.value),
    )


def _affected_table(affected: Sequence[AffectedOption]) -> Table:
    columns = columns_of("benchmark | metric | setting | > change | > interval | > p")
    rows = tuple(
        (
            option.benchmark,
            option.metric,
            f"{option.option}={setting_text(option.setting)}{_where(option)}",
            Shown(change(option.ratio - 1.0), option.ratio),
            f"{interval_text(option.interval)} %",
            Shown(p_text(option.p_value), option.p_value),
        )
        for option in affected
    )
    note = (
        "The change at each setting of the options that it depends on; p: of the best explanation without the"
        " option, corrected for all explanations."
    )
    return Table("Because of what", columns, rows, (note,))


def _where(carrier: AffectedOption) -> str:
    named = " ".join(f"{name}={setting_text(setting)}" for name, setting in carrier.where)
    return f" where {named}" if named else ""


def _notes(found: GateConclusion) -> list[str]:
    alpha, margin = percent(found.question.alpha), percent(found.question.margin)
    notes = [
        f"{_rounds(found)}; a round has a run of every configuration at both revisions. A change is reported where "
        f"{_shown_by(found)}; where nothing changed, at most {alpha} of checks report one. The same: within {margin}. "
        "Change: the geometric mean of the rounds' ratios, which need not be the ratio of the means before and after. "
        f"p: of no change, corrected for all rows (Holm){', by both stages' if found.stages > 1 else ''}.",
        *coverage_notes(found.coverage),
        *wide_interval_notes(found.rows, found.question.alpha, found.question.margin),
        *statistic_notes(found.rows),
        *map(_warm_up, found.warm_ups),
        *map(_not_distinguished, found.rival_causes),
    ]
    undecided = [row for row in found.rows if row.change.verdict is ChangeVerdict.INCONCLUSIVE]
    notes += [_undecided(row, found) for row in undecided[:_MOST]]
    if undecided and not found.confirmed:
        notes.append("The same command with a larger --budget goes on from these rounds.")
    if found.unconfirmed:
        notes.append(f"Looked changed, and was not confirmed by fresh runs: {', '.join(found.unconfirmed)}.")
    if found.suspected:
        fresh = f"{counted(found.confirmed, 'round')} of fresh runs" if found.confirmed else "no fresh runs"
        notes.append(f"Looks changed, which {fresh} could not confirm before the end: {', '.join(found.suspected)}.")
    if found.failed:
        notes.append(f"{found.failed} of {found.done + found.failed} runs failed.")
    return notes


def _rounds(found: GateConclusion) -> str:
    if found.stages == 1:
        return counted(found.explored, "round")
    confirmed = f", {found.confirmed} more confirmed what looked changed" if found.confirmed else ""
    return f"{counted(found.explored, 'round')} explored{confirmed}"


def _shown_by(found: GateConclusion) -> str:
    return "both stages show it" if found.stages > 1 else "bets on the signs of the rounds' differences show it"


def _warm_up(cut: WarmUpCut) -> str:
    left_out = "observation" if cut.observations == 1 else f"{cut.observations:,} observations"
    return (
        f"Warm-up left out: the first {left_out} of each run of {cut.benchmark} ({cut.metric}); after these "
        f"{cut.reason}. hati.toml states no `warmup`; `warmup = 0` counts all observations."
    )


def _not_distinguished(each: RivalCauses) -> str:
    what = f"These configurations do not show what the change of {each.metric} of {each.benchmark} depends on"
    found = (
        f"explanations that fit equally well: {listed(each.causes, _RIVALS, '; ')}"
        if each.causes
        else "it differs between them, and neither one option nor two are shown to explain that"
    )
    return f"{what}: {found}. A larger suite (`hati suite`) or `hati compare-effects` shows more."


def _undecided(row: Comparison, found: GateConclusion) -> str:
    """What was estimated, and the number of rounds that would decide, if there are enough to estimate it."""
    own = row.change
    estimate = ""
    if own.ratio is not None and own.interval is not None:
        low, high = (change(end - 1.0) for end in own.interval)
        estimate = f", {change(own.ratio - 1.0)} ({low} to {high})"
    rounds = counted(row.before.runs, "round")
    not_decided = f"Not decided after {rounds}: {row.metric.name} of {row.benchmark}{estimate}"
    if row.before.runs < _FEWEST_ROUNDS:
        return f"{not_decided}."
    most = MOST_ROUNDS if found.stages == 1 else _MOST_OF_TWO_STAGES
    needed = f"more than {most:,}" if own.runs_needed is None else f"{own.runs_needed:,}"
    return f"{not_decided}; {needed} would decide {WITH_POWER}."


def gate_cases(ruling: Ruling) -> Sequence[Case]:
    """A case for each benchmark and metric, each stratum that changed, and each configuration that was not measured.

    A slower row fails, unless it is known or does not stop a change; an undecided one is skipped; a configuration that
    works only at the reference is an error. Only rows of benchmarks have seconds: a stratum's runs are among theirs.
    """
    found = ruling.gate
    whole = zip(_cases(found.rows, ruling), booked(found.rows), strict=True)
    strata = [each.comparison for each in found.strata if each.comparison.change.changed]
    broken = [_broken_case(each, ruling) for each in found.broken]
    return [*(case._replace(seconds=taken) for case, taken in whole), *_cases(strata, ruling), *broken]


def _cases(rows: Sequence[Comparison], ruling: Ruling) -> Sequence[Case]:
    return [_case(row, ruling) for row in rows]


def _case(row: Comparison, ruling: Ruling) -> Case:
    name = " ".join(filter(None, (row.metric.name, str(row.configuration))))
    sentence, known = comparison_sentence(row), ruling.known(row)
    if known is not None:
        return Case(row.benchmark, name, note=f"{sentence}; known as {known.id}{_by(known)}")
    if row.change.verdict is ChangeVerdict.INCONCLUSIVE:
        return Case(row.benchmark, name, skipped=sentence)
    if row.change.verdict in ruling.failing:
        return Case(row.benchmark, name, failure=sentence)
    return Case(row.benchmark, name, note=sentence)


def _by(known: Finding) -> str:
    return f", acknowledged by {known.author}: {known.reason}" if known.author else ""


def _broken_case(each: Broken, ruling: Ruling) -> Case:
    name, why = str(each.configuration) or "all", f"at {each.revision}: {each.why}"
    return Case(each.benchmark, name, error=why) if each in ruling.broken else Case(each.benchmark, name, skipped=why)


def gate_document(
    ruling: Ruling,
    advice: Recalibration | None = None,
    name: str = "hati check",
    harness_changed: Sequence[HarnessChange] = (),
) -> Document:
    """The result of a regression check; ``advice`` says whether to determine the important options again."""
    short = gate_table(ruling)
    again = recalibration_sentence(advice) if advice else None
    return Document(
        name,
        gate_answer(ruling),
        sections=(*((Brief(short),) if short else ()), Folded("Details", tuple(gate_tables(ruling)))),
        warnings=(*ruling.gate.warnings, *(each.sentence for each in harness_changed), *((again,) if again else ())),
        cases=tuple(gate_cases(ruling)),
        suite="hati check",
        study=ruling.gate.study,
        mark=name,
    )
