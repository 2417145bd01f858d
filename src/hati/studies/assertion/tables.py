"""Judged formulas as a sentence, a table, an explanation with evidence, test cases and published values.

Also their expected and their actual cost.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.core.wording import counted
from hati.document.document import (
    Align,
    Case,
    Cell,
    Column,
    Shown,
    Table,
    change,
    change_number,
    columns_of,
    duration,
    general,
    p_text,
    percent,
    quantity,
)
from hati.document.publishing import Interval, Joined, Of, StudyJson
from hati.formula import Comparator
from hati.harness import disturbances, load_warning
from hati.logic.interpret import (
    Combined,
    EstimateScale,
    FormulaVerdict,
    Interpretation,
    Judged,
    RelationEvidence,
    printed_level,
)
from hati.logic.syntax import LimitSide, PerformanceSide, Relation
from hati.studies.assertion import (
    Answer,
    Assured,
    Atom,
    Cost,
    SampleCollector,
    Standard,
    blockers,
    methods_of,
    run_means,
)
from hati.studies.comparison.conclusion import WITH_POWER


def cost_text(cost: Cost) -> str:
    """``14 runs (7 shared), 2.1 s``."""
    shared = f" ({cost.shared:,} shared)" if cost.shared else ""
    return f"{counted(cost.runs, 'run')}{shared}, {duration(cost.seconds)}"


class CostJson(Struct, frozen=True):
    """What a formula cost; shared runs are those of several formulas."""

    runs: int
    shared: int
    seconds: float


def sharing(costs: Sequence[Cost]) -> tuple[str, ...]:
    """The note that explains shared runs; empty if no runs are shared."""
    shared = any(cost.shared for cost in costs)
    return ("Shared runs are those of several formulas, and count for each of them.",) if shared else ()


_SUITE = "hati assert"


class AtomJson(Struct, frozen=True):
    """A relation of a formula with its evidence; ``unit`` is null of a ratio."""

    text: str
    verdict: Annotated[FormulaVerdict, Of("evidence.verdict")]
    scale: Annotated[EstimateScale, Of("evidence.scale")]
    unit: Annotated[str | None, Of(lambda atom: None if atom.evidence.scale is EstimateScale.RATIO else atom.unit)]
    estimate: Annotated[float | None, Of("evidence.estimate")]
    interval: Annotated[Interval | None, Of("evidence.interval")]
    detectable: Annotated[float | None, Of("evidence.detectable")]
    runs: Annotated[tuple[int, int], Of("evidence.runs")]
    runs_needed: Annotated[int | None, Of("evidence.runs_needed")]
    p_holds: Annotated[float, Of("evidence.p_holds")]
    p_violated: Annotated[float, Of("evidence.p_violated")]
    remembered: Annotated[int, Of("evidence.remembered")]
    remark: Annotated[str, Of("evidence.remark")]


class FormulaJson(Struct, frozen=True):
    """A formula and its verdict: among all, and ``alone``; ``cost`` is null where nothing was measured."""

    formula: Annotated[str, Of(lambda each: str(each.requirement.formula))]
    name: Annotated[str, Of("requirement.name")]
    file: Annotated[str, Of("requirement.place.file")]
    line: Annotated[int, Of("requirement.place.line")]
    verdict: FormulaVerdict
    alone: Annotated[FormulaVerdict, Of("judged.verdict")]
    p_holds: Annotated[float, Of("judged.p_holds")]
    p_violated: Annotated[float, Of("judged.p_violated")]
    cost: CostJson | None
    atoms: list[AtomJson]


class AssertionJson(StudyJson, frozen=True, tag_field="format", tag="hati-assert-1"):
    """Formulas with their relations; ``seconds`` are those that measuring took."""

    formulas: Annotated[
        list[FormulaJson], Of(lambda found: [Joined(each, cost=cost) for each, cost in _with_costs(found)])
    ]
    seconds: float
    runs: int
    failures: list[str]
    study: Annotated[str | None, Of(lambda found: found.study or None)]


def _with_costs(found: Assured) -> Iterator[tuple[Answer, Cost | None]]:
    """The answers with their costs; None where nothing was measured."""
    return zip(found.answers, found.costs or (None,) * len(found.answers), strict=True)


def assertion_table(found: Assured, standard: Standard) -> Table:
    """A row for each formula, followed by one for each of its relations if it has several; with costs if any."""
    costs = (Column("cost", align=Align.RIGHT),) if found.costs else ()
    columns = (
        *columns_of("verdict | formula | > estimate | > interval | > runs"),
        *costs,
    )
    rows = tuple(row for each, cost in _with_costs(found) for row in _rows(each, cost))
    notes = (*_notes(found.answers, standard), *sharing(found.costs), *_cost(found))
    return Table(assertion_answer(found.answers), columns, rows, notes)


def assertion_answer(answers: Sequence[Answer]) -> str:
    """The numbers of formulas that hold, are violated or are inconclusive, in one line."""
    counts = {verdict: sum(each.verdict is verdict for each in answers) for verdict in FormulaVerdict}
    words = {
        FormulaVerdict.HOLDS: "hold",
        FormulaVerdict.VIOLATED: "violated",
        FormulaVerdict.INCONCLUSIVE: "inconclusive",
    }
    if len(answers) == 1:
        return f"{answers[0].verdict}: {named_formula(answers[0])}"
    return f"{len(answers)} formulas: " + ", ".join(f"{count} {words[v]}" for v, count in counts.items() if count)


def _cost(found: Assured) -> tuple[str, ...]:
    if not found.study:
        return ()
    runs = f"{counted(found.runs, 'run')}, {duration(found.seconds)} in all."
    return (runs, *_further(found), *(f"Failed: {why}" for why in found.failures))


def _further(found: Assured) -> tuple[str, ...]:
    """What would decide the inconclusive formulas."""
    more = found.further
    if more is None:
        return ()
    runs = f"{counted(more.runs, 'further run')}, about {duration(more.seconds)}, would decide"
    return (f"{runs} {WITH_POWER}: --budget {more.budget}.",)


def _rows(each: Answer, cost: Cost | None) -> list[tuple[Cell, ...]]:
    price: tuple[Cell, ...] = () if cost is None else (Shown(cost_text(cost), cost.seconds),)
    if len(each.atoms) == 1 and str(each.requirement.formula) == each.atoms[0].text:
        return [(each.verdict.value, named_formula(each), *_cells(each.atoms[0]), *price)]
    name = each.requirement.name or str(each.requirement.formula)
    whole: tuple[Cell, ...] = (each.verdict.value, name, None, None, None, *price)
    none = (None,) * len(price)
    return [whole, *((f"  {atom.verdict}", f"  {atom.text}", *_cells(atom), *none) for atom in each.atoms)]


def named_formula(each: Answer) -> str:
    """The text of a formula, preceded by its name if it has one."""
    text = str(each.requirement.formula)
    return f"{each.requirement.name}: {text}" if each.requirement.name else text


def _cells(atom: Atom) -> tuple[Cell, ...]:
    found = atom.evidence
    needed = found.runs_needed
    runs = " + ".join(str(size) for size in found.runs if size) or "0"
    more = f" of {needed:,} each" if needed is not None and found.verdict is FormulaVerdict.INCONCLUSIVE else ""
    return (
        Shown(estimate_text(atom), found.estimate if math.isfinite(found.estimate) else None),
        interval_text(atom),
        f"{runs}{more}",
    )


def estimate_text(atom: Atom) -> str:
    """The estimate as text: a ratio as a change in percent, a difference or a mean in its unit."""
    found = atom.evidence
    if not math.isfinite(found.estimate):
        return "unknown"
    return change(found.estimate - 1.0) if found.scale is EstimateScale.RATIO else quantity(found.estimate, atom.unit)


def excess_text(atom: Atom, book: SampleCollector) -> str:
    """By how much the left side is larger: in percent if both sides are measured and positive, else in their unit."""
    found = atom.evidence
    if found.scale is not EstimateScale.MEAN or not math.isfinite(found.estimate):
        return estimate_text(atom)
    sides = run_means(atom.resolved, book)
    turned = isinstance(atom.resolved.left, LimitSide)
    excess = found.estimate - float(sides[0 if turned else 1][0])
    return quantity(-excess if turned else excess, atom.unit)


def interval_text(atom: Atom) -> str:
    """The interval of the true value, as text."""
    found = atom.evidence
    if found.interval is None:
        return "unknown" if found.remark else "unbounded"
    low, high = found.interval
    if found.scale is EstimateScale.RATIO:
        return f"{change_number(max(low, 0.0) - 1.0)} to {change(high - 1.0)}"
    return f"{quantity(low, atom.unit)} to {quantity(high, atom.unit)}"


def _notes(answers: Sequence[Answer], standard: Standard) -> tuple[str, ...]:
    atoms = [atom for each in answers for atom in each.atoms]
    notes = [" ".join(_rules(atoms, standard))] if atoms else []
    notes += _undecided(answers)
    notes += [
        f"{named_formula(each)}: only single relations decide it, which may be chance among all of its relations."
        for each in answers
        if _unconfirmed(each.judged)
    ]
    corrected = [each for each in answers if each.judged.verdict is not each.verdict]
    notes += [
        f"{named_formula(each)}: violated individually (p = {p_text(each.judged.p_violated)}), which may be chance "
        f"among {len(answers)} formulas."
        for each in corrected
    ]
    return tuple(notes)


def _undecided(answers: Sequence[Answer]) -> Iterator[str]:
    """Why relations are inconclusive, each once; with the formula's name if several share a text, as with ``SELF``."""
    known: dict[tuple[str, str], tuple[Answer, Atom]] = {}
    for each in answers:
        for atom in each.atoms:
            known.setdefault((atom.text, str(atom.resolved)), (each, atom))
    texts = Counter(text for text, _ in known)
    for each, atom in known.values():
        if sentence := undecided_text(atom):
            name = each.requirement.name or str(each.requirement.place)
            yield f"{name}: {atom.text}: {sentence}" if texts[atom.text] > 1 else f"{atom.text}: {sentence}"


def _unconfirmed(judged: Judged) -> bool:
    """Whether a part decides the formula individually, but not after the correction for all parts."""
    if not isinstance(judged, Combined) or judged.verdict is not FormulaVerdict.INCONCLUSIVE:
        return False
    return judged.parts[judged.deciding[0]].verdict is not FormulaVerdict.INCONCLUSIVE


def _rules(atoms: Sequence[Atom], standard: Standard) -> Iterator[str]:
    """The rules of the decisions that concern these relations."""
    if standard.interpretation is not Interpretation.DEFAULT:
        name = standard.interpretation
        yield f"By the SPL paper's {name} interpretation: formulas that are not rejected hold, without margins."
    else:
        yield f"HOLDS and VIOLATED are each wrong in at most {percent(standard.alpha)} of cases{_assumed(atoms)}."
        if standard.margin and any(_has_common_margin(atom.relation) for atom in atoms):
            yield f"The tolerance of <=, >= and = is {percent(standard.margin)}."
    if any(atom.evidence.scale is EstimateScale.RATIO and math.isfinite(atom.evidence.estimate) for atom in atoms):
        yield "An estimate in % is how much larger the left side is than the right one."


def _assumed(atoms: Sequence[Atom]) -> str:
    """The assumption behind the error rates; empty where no relation has an absolute limit."""
    limited = any(atom.evidence.scale is EstimateScale.MEAN for atom in atoms)
    return "; for absolute limits, if run means are distributed like normal to exponential values" if limited else ""


def _has_common_margin(relation: Relation) -> bool:
    """Whether the common margin applies: the relation is not strict, and states no margin of its own."""
    return relation.margin is None and relation.comparator in {
        Comparator.AT_MOST,
        Comparator.AT_LEAST,
        Comparator.EQUAL,
    }


def undecided_text(atom: Atom) -> str:
    """Why the verdict is undecided, and how to decide it; empty where it is decided."""
    found = atom.evidence
    if found.verdict is not FormulaVerdict.INCONCLUSIVE:
        return ""
    if atom.same or atom.resolved.left == atom.resolved.right:
        return "both sides are the same, and no number of runs can distinguish them."
    reasons = [found.remark] if found.remark else []
    if found.detectable:
        reasons.append(f"{_detectable(atom, found)} beyond its limit would have been found in 80 % of cases")
    if found.runs_needed is None and not any(found.runs):
        reasons = reasons or ["nothing was measured"]
    elif not found.remark and found.scale is EstimateScale.MEAN and found.interval == (found.estimate, found.estimate):
        reasons.append(
            "all values are equal and on the limit, where a mean is neither shown below nor above; "
            "write a limit beyond it"
        )
    elif found.runs_needed is None:
        reasons.append("no number of runs would decide it at this estimate and noise")
    else:
        whose = "" if found.scale is EstimateScale.MEAN else " of each side"
        reasons.append(f"{counted(found.runs_needed, 'run')}{whose} would decide {WITH_POWER}")
    text = "; ".join(reasons)
    return text if text.endswith("?") else f"{text}."


def _detectable(atom: Atom, found: RelationEvidence) -> str:
    assert found.detectable is not None
    return percent(found.detectable) if found.scale is EstimateScale.RATIO else quantity(found.detectable, atom.unit)


def assertion_cases(found: Assured) -> list[Case]:
    """A case for each formula: violated fails, inconclusive is skipped, or an error where it cannot be judged."""
    return [_case(each, "; ".join(blockers(each, found.book)), cost) for each, cost in _with_costs(found)]


def _case(each: Answer, hindered: str, cost: Cost | None) -> Case:
    open_ = each.verdict is FormulaVerdict.INCONCLUSIVE and not hindered
    return Case(
        f"{_SUITE} {each.requirement.place.file}",
        named_formula(each),
        failure=_why(each) if each.verdict is FormulaVerdict.VIOLATED else None,
        skipped=_why(each) if open_ else None,
        error=hindered or None,
        seconds=None if cost is None else cost.booked,
    )


def _why(each: Answer) -> str:
    """The relations that are not shown to hold."""
    relations = [
        f"{atom.text} {atom.verdict}: {estimate_text(atom)} ({interval_text(atom)}), p = {p_text(atom.p_violated)}"
        for atom in each.atoms
        if atom.verdict is not FormulaVerdict.HOLDS
    ]
    return "; ".join(relations) or f"{each.verdict}: {named_formula(each)}"


class Explained(Struct, frozen=True):
    """How the verdict of a formula arose: sentences on each of its relations by their texts, and on the whole."""

    relations: tuple[tuple[str, tuple[str, ...]], ...]
    whole: str


def explained(each: Answer, standard: Standard) -> Explained:
    """The verdict in words; ``standard`` is the standard that relations were judged by."""
    relations = tuple((f"{atom.text}: {atom.verdict}", tuple(_sentences(atom, standard))) for atom in each.atoms)
    whole = f"The formula individually: {each.judged.verdict}; among all formulas of this call: {each.verdict}."
    return Explained(relations, whole)


def _sentences(atom: Atom, standard: Standard) -> Iterator[str]:
    found = atom.evidence
    sides = " and ".join(counted(size, "run") for size in found.runs if size) or "no runs"
    yield f"Estimate {estimate_text(atom)}, interval {interval_text(atom)}, from {sides}."
    if found.remembered:
        yield f"The variance is estimated with {counted(found.remembered, 'earlier run')} too."
    yield _probabilities(atom, standard)
    if sentence := undecided_text(atom):
        named = sentence.startswith(tuple(f"{method}{end}" for method in methods_of(atom.resolved) for end in ": "))
        yield sentence if named else f"{sentence[0].upper()}{sentence[1:]}"


def load_text(atom: Atom, book: SampleCollector) -> str:
    """Why a violated limit on wall time may be due to other programs: most runs were disturbed; empty if not.

    It names the same requirement on CPU time.
    """
    sides = [each for each in (atom.resolved.left, atom.resolved.right) if isinstance(each, PerformanceSide)]
    if atom.verdict is not FormulaVerdict.VIOLATED or len(sides) != 1 or not atom.is_observed_in(book):
        return ""
    sample = book.sample(sides[0].measured)
    reasons = disturbances([run.usage for run in sample.runs])
    marked = sum(map(bool, reasons))
    if sample.metric.name != "wall_time" or not load_warning(reasons) or 2 * marked <= len(reasons):
        return ""
    return (
        f"{marked:,} of {counted(len(reasons), 'run')} were disturbed by other programs, which wall time includes; "
        f"{_of_cpu_time(atom.relation)} limits CPU time instead"
    )


def _of_cpu_time(relation: Relation) -> Relation:
    sides = (
        replace(each, measured=replace(each.measured, metric="cpu_time")) if isinstance(each, PerformanceSide) else each
        for each in (relation.left, relation.right)
    )
    left, right = sides
    return replace(relation, left=left, right=right)


def explanation(each: Answer, standard: Standard) -> str:
    """The explanation as text, with the place of the formula in its file."""
    parts = explained(each, standard)
    lines = [f"{each.requirement.place}: {named_formula(each)}", ""]
    for number, (relation, sentences) in enumerate(parts.relations, start=1):
        lines += [f"{number}. {relation}", *(f"   {sentence}" for sentence in sentences)]
    return "\n".join([*lines, "", parts.whole]) + "\n"


def _probabilities(atom: Atom, standard: Standard) -> str:
    holds, violated = p_text(atom.evidence.p_holds), p_text(atom.evidence.p_violated)
    if standard.interpretation is Interpretation.DEFAULT:
        return (
            f"If it is violated, data like these have a probability of at most {holds}; if it holds, of at most "
            f"{violated}. A probability of {general(standard.alpha)} or less decides."
        )
    comparator = atom.relation.comparator
    level = general(
        printed_level(Comparator.EQUAL if comparator is Comparator.EQUAL else Comparator.AT_MOST, standard.alpha)
    )
    if comparator in {Comparator.LESS, Comparator.MORE}:
        return f"If it is violated, data like these have a probability of {holds}; {level} or less shows the relation."
    return f"If it holds, data like these have a probability of {violated}; {level} or less rejects it."


BARS = "▁▂▃▄▅▆▇█"
WIDTH = 32
"""The number of bars of a histogram."""

_LONGEST = 40


def assertion_evidence(each: Answer, book: SampleCollector) -> str:
    """The formula and, for each of its relations, verdict, numbers and a histogram of both sides' run means."""
    head = [f"{each.verdict}: {named_formula(each)}", f"  at {each.requirement.place}"]
    return "\n".join([*head, *(line for atom in each.atoms for line in ("", *_evidence_lines(atom, book)))])


def spark(values: FloatArray, low: float, high: float, width: int = WIDTH) -> str:
    """A histogram in a line: ``width`` bars from ``low`` to ``high``, the highest where most values are.

    >>> spark(np.array([1.0, 1.0, 2.0, 4.0]), 1.0, 4.0, 4)
    '█▄ ▄'
    """
    counts, _ = np.histogram(values, bins=width, range=(low, high if high > low else low + abs(low or 1.0)))
    top = max(int(counts.max()), 1)
    return "".join(BARS[-(-int(count) * len(BARS) // top) - 1] if count else " " for count in counts)


def _evidence_lines(atom: Atom, book: SampleCollector) -> list[str]:
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
    if remark := load_text(atom, book):
        lines.append(f"  {remark}")
    if atom.is_observed_in(book):
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
