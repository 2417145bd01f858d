"""``hati compare``: two samples of each of many benchmarks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import STDOUT, check_output, console, say, write
from hati.cli.parameters import Output, Seed
from hati.cli.screen import parse_share
from hati.core import InputError

if TYPE_CHECKING:
    from hati.core import Sample
    from hati.studies.comparison import Comparisons, Verdict

WORSE = 1
UNDECIDED = 3


class ComparisonFormat(StrEnum):
    """How a comparison is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"


class IntervalChoice(StrEnum):
    """How the interval of a ratio is found."""

    T = "t"
    BOOTSTRAP = "bootstrap"


_Before = Annotated[Path, typer.Argument(metavar="BEFORE", help="Samples, or any file that `hati import` reads.")]
_After = Annotated[Path, typer.Argument(metavar="AFTER", help="The same of what is compared with it.")]
_Margin = Annotated[str, typer.Option("--margin", metavar="SHARE", help="Within it two are the same: 5% or 0.05.")]
_Alpha = Annotated[float, typer.Option("--alpha", metavar="P", help="The level of every verdict.")]
_Statistic = Annotated[
    str,
    typer.Option("--statistic", metavar="NAME", help="What stands for a run: mean, median, or a quantile as q0.99."),
]
_Metric = Annotated[str | None, typer.Option("--metric", metavar="NAME", help="Only this metric.")]
_FailOn = Annotated[
    str, typer.Option("--fail-on", metavar="VERDICTS", help="Which of slower, faster, inconclusive exit with 1, 1, 3.")
]
_Interval = Annotated[
    IntervalChoice, typer.Option("--interval", help="How a ratio's interval is found; the verdict is Student's.")
]
_Tests = Annotated[
    bool, typer.Option("--tests", help="Classical tests of run medians besides, with Shapiro-Wilk of normality.")
]
_Chosen = Annotated[ComparisonFormat, typer.Option("--format", help="How the result is written.")]


def compare(
    before: _Before,
    after: _After,
    margin: _Margin = "5%",
    alpha: _Alpha = 0.01,
    statistic: _Statistic = "mean",
    metric: _Metric = None,
    interval: _Interval = IntervalChoice.T,
    tests: _Tests = False,
    seed: Seed = 1,
    fail_on: _FailOn = "slower,inconclusive",
    output: Output = STDOUT,
    chosen: _Chosen = ComparisonFormat.TEXT,
) -> int:
    """Compare two files of samples run by run: slower, faster, the same, or how many runs would decide."""
    from hati.studies.comparison import (
        Question,
        Statistic,
        compare,
        pairs,
        with_bootstrap_intervals,
        with_median_tests,
    )
    from hati.subject.samples import read_samples

    question = Question(alpha, parse_share(margin), Statistic.parse(statistic))
    failing = _verdicts(fail_on)
    check_output(output)
    files = [read_samples(path) for path in (before, after)]
    sides = [of_metric(file.samples, metric, path) for file, path in zip(files, (before, after), strict=True)]
    found, unmatched = pairs(*sides)
    comparisons = compare(found, question)
    if interval is IntervalChoice.BOOTSTRAP:
        comparisons = with_bootstrap_intervals(comparisons, found, question, seed)
    if tests:
        comparisons = with_median_tests(comparisons, found)
    for path, names in ((before, unmatched.before), (after, unmatched.after)):
        if names:
            say(f"only in {path}: {', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}")
    for text in (*(warning for file in files for warning in file.warnings), *comparisons.warnings):
        say(f"warning: {text}")
    _write(comparisons, chosen, output)
    return _status(comparisons, failing)


def of_metric(samples: tuple[Sample, ...], metric: str | None, path: Path) -> tuple[Sample, ...]:
    """Those of a metric, or all.

    Raises:
        InputError: where there are none.
    """
    chosen = tuple(sample for sample in samples if metric in {None, sample.metric.name})
    if not chosen:
        known = ", ".join(sorted({sample.metric.name for sample in samples}))
        raise InputError(f"{path} has no samples of the metric {metric!r}", fix=f"its metrics are {known}")
    return chosen


def _verdicts(text: str) -> frozenset[Verdict]:
    from hati.studies.comparison import Verdict

    able = {verdict.value: verdict for verdict in Verdict if verdict is not Verdict.SAME}
    words = [word.strip() for word in text.split(",") if word.strip() and word.strip() != "none"]
    for word in words:
        if word not in able:
            raise InputError(f"--fail-on {word!r} is no verdict that can fail", fix=f"write {', '.join(able)}, or none")
    return frozenset(able[word] for word in words)


def _status(found: Comparisons, failing: frozenset[Verdict]) -> int:
    from hati.studies.comparison import Verdict

    if any(failing & row.verdicts - {Verdict.INCONCLUSIVE} for row in found.rows):
        return WORSE
    return UNDECIDED if Verdict.INCONCLUSIVE in failing and found.count(Verdict.INCONCLUSIVE) else 0


def _write(found: Comparisons, chosen: ComparisonFormat, output: str) -> None:
    from hati import render
    from hati.report import comparison_cases, comparison_table, comparisons_json, median_tests_table

    tables = [comparison_table(found), *([median_tests_table(found)] if found.rows[0].tests else [])]
    if chosen is ComparisonFormat.JSON:
        write(render.to_json(comparisons_json(found)), output)
    elif chosen is ComparisonFormat.JUNIT:
        write(render.to_junit("hati compare", comparison_cases(found)), output)
    elif chosen is ComparisonFormat.MARKDOWN:
        write("\n".join(render.table_markdown(table) for table in tables), output)
    elif output == STDOUT:
        for number, table in enumerate(tables):
            if number:
                console().print()
            render.print_table(table, console())
    else:
        write("\n".join(render.table_text(table) for table in tables), output)
