"""A gate as a document, with its verdicts as test cases."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import Finding
from hati.report.comparison import comparison_sentence
from hati.report.document import Brief, Case, Document, Folded
from hati.report.gate import gate_answer, gate_table, gate_tables
from hati.report.recalibration import recalibration_sentence
from hati.report.verdicts import booked
from hati.studies.comparison import ChangeVerdict, Comparison
from hati.studies.findings import Ruling
from hati.studies.gate import Broken
from hati.studies.recalibration import Recalibration


def gate_cases(ruling: Ruling) -> Sequence[Case]:
    """A case for each benchmark and metric, each stratum that changed, and each configuration that was not measured.

    A slower row fails, unless it is known or does not stop a change; an undecided one is skipped; one that works at
    the reference alone is an error. Time is booked on the benchmark; a stratum's runs are among those.
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


def gate_document(ruling: Ruling, advice: Recalibration | None = None, name: str = "hati check") -> Document:
    """What a gate says of a change; ``advice`` is whether important options are to be determined again."""
    short = gate_table(ruling)
    again = recalibration_sentence(advice) if advice else None
    return Document(
        name,
        gate_answer(ruling),
        sections=(*((Brief(short),) if short else ()), Folded("Details", tuple(gate_tables(ruling)))),
        warnings=(again,) if again else (),
        cases=tuple(gate_cases(ruling)),
        suite="hati check",
        study=ruling.gate.study,
        mark=name,
    )
