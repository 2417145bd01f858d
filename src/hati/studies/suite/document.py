"""A suite's conclusion as a document with tables and figure data, and as published values."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from msgspec import Struct

from hati.core import Better, setting_text
from hati.document.document import (
    Cell,
    Chart,
    ChartKind,
    Column,
    Document,
    Shown,
    Table,
    change,
    columns_of,
    general,
    percent,
    quantity,
    tidy,
)
from hati.document.publishing import Interval, Joined, Of, RunsJson, StudyJson
from hati.studies.suite import Agreement, Box, SpaceMean, StratumEstimate, SuiteConclusion, SuiteScale


def suite_tables(conclusion: SuiteConclusion) -> tuple[Table, ...]:
    """The distribution over the space, the strata, and the agreement with a comparison."""
    tables = [_distribution_table(conclusion), _strata_table(conclusion)]
    if conclusion.against is not None:
        tables.append(_against_table(conclusion, conclusion.against))
    return tuple(tables)


def suite_answer(conclusion: SuiteConclusion) -> str:
    """The result, in one or two sentences."""
    unit = conclusion.metric.unit
    mean = f"mean {conclusion.metric.name} over {_covered(conclusion)}: {_with_interval(conclusion.mean, unit)}"
    middle = next((q for q in conclusion.quantiles if q.level == 0.5), None)
    median = "" if middle is None else f"; median {quantity(middle.estimate, unit)}"
    return f"{mean}{median}.{_agreement_sentence(conclusion)}"


def _covered(conclusion: SuiteConclusion) -> str:
    """The part of the space whose strata have a value."""
    known = sum(stratum.weight for stratum in conclusion.strata if stratum.estimate is not None)
    whole = sum(stratum.weight for stratum in conclusion.strata)
    return "the whole space" if known == whole else f"{percent(known / whole, 2)} of the space"


def suite_facts(conclusion: SuiteConclusion) -> tuple[tuple[str, str], ...]:
    """The subject and method of the study, line by line."""
    sizes = f"{conclusion.size:,} configurations in {len(conclusion.strata):,} strata"
    repeated = f", {conclusion.repetitions} times each" if conclusion.repetitions > 1 else ""
    sampled = "; a random sample of as many for comparison" if _is_sampled(conclusion) else ""
    scale = "logarithms: ratios are compared" if conclusion.scale is SuiteScale.LOG else "values as they are"
    return (
        ("subject", f"{conclusion.subject} {conclusion.revision}, benchmark {conclusion.benchmark}"),
        ("space", f"{conclusion.configurations:,} valid configurations"),
        ("strata", f"of {', '.join(conclusion.options) or 'no option'} ({conclusion.options_from})"),
        ("suite", f"{sizes}{repeated}{sampled}"),
        ("runs", f"{conclusion.done:,} done, {conclusion.failed:,} failed"),
        ("scale", scale),
    )


def _is_sampled(conclusion: SuiteConclusion) -> bool:
    return conclusion.planned > conclusion.size * conclusion.repetitions


def _agreement_sentence(conclusion: SuiteConclusion) -> str:
    found = conclusion.against
    if found is None or found.equivalence is None:
        return ""
    verdict = "equivalent" if found.equivalence.equivalent else "not shown to be equivalent"
    return f" The means of the suite and of the {found.kind} are {verdict} within {_margin(conclusion, found)}."


def _margin(conclusion: SuiteConclusion, found: Agreement) -> str:
    assert found.equivalence is not None
    if conclusion.scale is SuiteScale.LOG:
        return percent(math.expm1(found.equivalence.margin))
    return quantity(found.equivalence.margin, conclusion.metric.unit)


def _distribution_table(conclusion: SuiteConclusion) -> Table:
    unit = conclusion.metric.unit
    rows: list[tuple[Cell, ...]] = [
        (f"{general(100 * q.level)} %", Shown(quantity(q.estimate, unit), q.estimate), _bounds(q.low, q.high, unit))
        for q in conclusion.quantiles
    ]
    for name, mean in (("mean", conclusion.mean), ("geometric mean", conclusion.geometric_mean)):
        if mean is not None:
            low, high = mean.interval or (None, None)
            rows.append((name, Shown(quantity(mean.estimate, unit), mean.estimate), _bounds(low, high, unit)))
    return Table(
        f"{conclusion.metric.name} over the whole space",
        columns_of("quantile | > estimate | > 95 % interval"),
        tuple(rows),
        ("Strata are weighted by their numbers of valid completions.",),
    )


def _strata_table(conclusion: SuiteConclusion) -> Table:
    unit = conclusion.metric.unit
    total = sum(stratum.weight for stratum in conclusion.strata)
    rows = []
    for stratum in conclusion.strata:
        settings = tuple(
            setting_text(stratum.setting[name]) if name in stratum.setting else "inactive"
            for name in conclusion.options
        )
        mean = None if stratum.estimate is None else Shown(quantity(stratum.estimate, unit), stratum.estimate)
        share = Shown(percent(stratum.weight / total), stratum.weight / total)
        rows.append((*settings, stratum.weight, share, mean, _interval(stratum, unit), stratum.runs))
    return Table(
        f"Mean {conclusion.metric.name} in each stratum",
        (
            *(Column(name) for name in conclusion.options),
            *columns_of("> weight | > share | > mean | > 95 % interval | > runs"),
        ),
        tuple(rows),
        ("Weight: how many valid configurations the stratum has. Intervals: from the variation within the stratum.",),
    )


def _interval(stratum: StratumEstimate, unit: str) -> Cell:
    return stratum.no_interval if stratum.interval is None else _bounds(*stratum.interval, unit)


def _against_table(conclusion: SuiteConclusion, found: Agreement) -> Table:
    test, unit = found.mann_whitney, conclusion.metric.unit
    rows: list[tuple[Cell, ...]] = [
        ("values", found.values),
        (f"mean of the {found.kind}", Shown(quantity(found.mean, unit), found.mean)),
        ("Kolmogorov-Smirnov distance", Shown(general(found.ks, 3), found.ks)),
        ("share within the suite's range", Shown(percent(found.range), found.range)),
        ("Mann-Whitney p", Shown(general(test.p_value, 3), test.p_value)),
        (f"its power for a shift of {general(test.shift, 2)} sd", Shown(percent(test.power, 2), test.power)),
        ("shift that it finds with 80 % power, in sd", _deviations(test.detectable)),
    ]
    if found.equivalence is not None:
        low, high = found.equivalence.interval
        log = conclusion.scale is SuiteScale.LOG
        shown = [change(math.expm1(v)) if log else quantity(v, unit) for v in (low, high)]
        provable = found.equivalence.provable
        rows += [
            ("difference of the means, 90 % interval", f"{shown[0]} to {shown[1]}"),
            (f"equivalent within {_margin(conclusion, found)}", "yes" if found.equivalence.equivalent else "not shown"),
            ("smallest margin that can be shown", percent(math.expm1(provable)) if log else quantity(provable, unit)),
        ]
    return Table(f"Against the {found.kind}", columns_of("comparison | > result"), tuple(rows))


def _bounds(low: float | None, high: float | None, unit: str) -> Cell:
    if low is None and high is None:
        return None
    ends = ["?" if end is None else quantity(end, unit) for end in (low, high)]
    return Shown(" to ".join(ends), " to ".join(ends))


def _with_interval(mean: SpaceMean, unit: str) -> str:
    text = quantity(mean.estimate, unit)
    if mean.interval is None:
        return text
    return f"{text} ({quantity(mean.interval[0], unit)} to {quantity(mean.interval[1], unit)})"


def _deviations(value: float) -> Cell:
    return Shown(general(value, 2), value) if math.isfinite(value) else None


class SuiteStratumJson(StratumEstimate, frozen=True):
    """A stratum of the space with its estimate; ``share`` is its fraction of all configurations."""

    share: float


class EquivalenceJson(Struct, frozen=True):
    """Whether both means are the same within a margin."""

    scale: SuiteScale
    difference: float
    interval: Interval
    margin: float
    p_value: float
    provable: float


class MannWhitneyJson(Struct, frozen=True):
    """The test of Mann and Whitney, with its power against a shift."""

    superiority: float
    p_value: float
    shift: float
    power: float
    detectable: float | None


class AgreementJson(Struct, frozen=True):
    """How the suite agrees with all configurations, or with random ones."""

    kind: str
    values: int
    mean: float
    geometric_mean: float | None
    ks: float
    range: float
    equivalent: Annotated[bool | None, Of(lambda found: found.equivalence and found.equivalence.equivalent)]
    equivalence: Annotated[EquivalenceJson | None, Of(lambda of: of.equivalence and Joined(of.equivalence, of))]
    mann_whitney: MannWhitneyJson
    quantiles: Annotated[list[list[float]], Of("pairs")]


class SuiteSpaceJson(Struct, frozen=True):
    """The size of the space."""

    configurations: int


class SuiteDesignJson(Struct, frozen=True):
    """The plan of the suite."""

    runs: Annotated[int, Of("planned")]
    configurations: Annotated[int, Of("size")]
    repetitions: int
    strata: Annotated[int, Of(lambda found: len(found.strata))]


class SuiteJson(StudyJson, frozen=True, tag_field="format", tag="hati-suite-1"):
    """A metric over the whole space, estimated from a test suite."""

    study: str
    subject: str
    benchmark: str
    revision: str
    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    better: Annotated[Better, Of("metric.better")]
    scale: SuiteScale
    options: list[str]
    options_from: str
    space: Annotated[SuiteSpaceJson, Of()]
    design: Annotated[SuiteDesignJson, Of()]
    strata: Annotated[list[SuiteStratumJson], Of(_strata)]
    quantiles: Annotated[dict[str, float], Of(lambda found: {_level(q.level): q.estimate for q in found.quantiles})]
    quantile_intervals: Annotated[
        dict[str, Interval], Of(lambda found: {_level(q.level): (q.low, q.high) for q in found.quantiles})
    ]
    mean: Annotated[float, Of("mean.estimate")]
    mean_interval: Annotated[Interval | None, Of("mean.interval")]
    geometric_mean: Annotated[float | None, Of(lambda of: of.geometric_mean and of.geometric_mean.estimate)]
    geometric_mean_interval: Annotated[Interval | None, Of(lambda of: of.geometric_mean and of.geometric_mean.interval)]
    against: Annotated[AgreementJson | None, Of(lambda of: of.against and Joined(of.against, of))]
    runs: Annotated[RunsJson, Of()]
    failures: list[str]
    seconds: float
    warnings: list[str]


def _strata(found: SuiteConclusion) -> list[Joined]:
    total = sum(stratum.weight for stratum in found.strata)
    return [Joined(stratum, share=stratum.weight / total) for stratum in found.strata]


def _level(level: float) -> str:
    """A quantile's level as a key: 0.05, 0.5, 0.999."""
    return repr(float(level))


class QuantilePoint(NamedTuple):
    """One point of a Q-Q plot."""

    suite: float
    other: float


class SuiteFigure(NamedTuple):
    """The distribution of the suite and of its comparison; values in ``unit``, the metric's own tidied."""

    metric: str
    unit: str
    other: str
    scale: SuiteScale
    points: tuple[QuantilePoint, ...]
    boxes: tuple[Box, ...]


def suite_figure(conclusion: SuiteConclusion) -> SuiteFigure | None:
    """The data of the Q-Q and the box plot, where there is something to compare with."""
    found = conclusion.against
    if found is None:
        return None
    unit, factor = tidy(conclusion.metric.unit, found.pairs.ravel().tolist())
    boxes = tuple(
        Box(b.name, *(v * factor for v in (b.minimum, b.lower, b.median, b.upper, b.maximum))) for b in found.boxes
    )
    points = tuple(QuantilePoint(one * factor, other * factor) for one, other in found.pairs.tolist())
    return SuiteFigure(conclusion.metric.name, unit, found.kind, conclusion.scale, points, boxes)


def suite_document(conclusion: SuiteConclusion) -> Document:
    """The findings of a suite: the distribution over the space, the strata, comparisons."""
    return Document(
        f"{conclusion.subject}: {conclusion.metric.name} over the whole space",
        suite_answer(conclusion),
        facts=suite_facts(conclusion),
        sections=(*suite_tables(conclusion), *_charts(conclusion)),
        failures=conclusion.failures,
        warnings=conclusion.warnings,
        study=conclusion.study,
    )


def _charts(conclusion: SuiteConclusion) -> tuple[Chart, ...]:
    figure = suite_figure(conclusion)
    captions = (
        (ChartKind.QUANTILES, "Q-Q plot: the suite's quantiles against those of its comparison."),
        (ChartKind.BOXES, "Box plots of the suite, weighted, and of its comparison."),
    )
    return tuple(Chart(kind, kind.value, caption, figure) for kind, caption in captions if figure is not None)
