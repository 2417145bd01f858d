"""``hati compare``: two files of samples, or two variants measured now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.comparisons import ComparisonFormat, write_comparisons
from hati.cli.output import STDOUT, check_output, say
from hati.cli.pairs import PairOptions, compare_now
from hati.cli.parameters import DEFAULT_SEED, HERE, LARGEST_SEED, DryRun, Fresh, Output, StorePlace
from hati.cli.screen import parse_share
from hati.core import InputError, Stopping

if TYPE_CHECKING:
    from hati.core import Sample
    from hati.studies.comparison import Comparisons, Question, Verdict

WORSE = 1
UNDECIDED = 3


class IntervalChoice(StrEnum):
    """How the interval of a ratio is found."""

    T = "t"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True)
class FileOptions:
    """The options that are of files only."""

    interval: IntervalChoice
    tests: bool
    seed: int | None = None

    def refuse(self) -> None:
        """See that none of them is given with benchmarks.

        Raises:
            InputError: where one is.
        """
        given = {"--interval": self.interval is not IntervalChoice.T, "--tests": self.tests}
        for name in (name for name, is_given in given.items() if is_given):
            raise InputError(
                f"{name} is for files, and these benchmarks are measured in pairs",
                fix="leave it out, or compare files that `hati export` wrote",
            )


_Before = Annotated[
    str, typer.Argument(metavar="BEFORE", help="Any file that `hati import` reads, or a benchmark to be measured now.")
]
_After = Annotated[str, typer.Argument(metavar="AFTER", help="The same of what is compared with it.")]
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
_Project = Annotated[
    Path, typer.Option("--project", metavar="PATH", help="Benchmarks: the folder with hati.toml, or the file.")
]
_SETTINGS = "OPTION=SETTING,..."
_Both = Annotated[
    str | None,
    typer.Option("--set", metavar=_SETTINGS, help="Benchmarks: what both have other than the default."),
]
_SetBefore = Annotated[
    str | None, typer.Option("--set-before", metavar=_SETTINGS, help="Benchmarks: the same of BEFORE only.")
]
_SetAfter = Annotated[
    str | None, typer.Option("--set-after", metavar=_SETTINGS, help="Benchmarks: the same of AFTER only.")
]
_Stop = Annotated[
    Stopping | None,
    typer.Option("--stop", help="Benchmarks: anytime, once it is decided [default], or at a fixed number of runs."),
]
_Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="RUNS|TIME", help="Benchmarks: what the runs may cost [default: 64]."),
]
_Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="SEED",
        min=0,
        max=LARGEST_SEED,
        help="Of the order in each pair of benchmarks, or of the bootstrap [default: 1].",
    ),
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
    fail_on: _FailOn = "slower,inconclusive",
    project: _Project = HERE,
    both: _Both = None,
    set_before: _SetBefore = None,
    set_after: _SetAfter = None,
    stop: _Stop = None,
    budget: _Budget = None,
    seed: _Seed = None,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: _Chosen = ComparisonFormat.TEXT,
) -> int:
    """Compare two samples run by run, from files or measured now: slower, faster, the same, or what would decide."""
    from hati.report import comparison_table, comparisons_json, median_tests_table
    from hati.studies.comparison import Question, Statistic

    question = Question(alpha, parse_share(margin), Statistic.parse(statistic))
    failing = _verdicts(fail_on)
    check_output(output)
    options = PairOptions(project, both, set_before, set_after, stop, budget, seed, fresh, dry_run, store)
    if any(Path(name).exists() for name in (before, after)) or not options.has_project:
        drawn = options.seed if interval is IntervalChoice.BOOTSTRAP else None
        (options if drawn is None else replace(options, seed=None)).refuse()
        found = _files(Path(before), Path(after), question, metric, FileOptions(interval, tests, drawn))
        tables = [comparison_table(found), *([median_tests_table(found)] if tests else [])]
        write_comparisons(found, comparisons_json(found), tables, chosen, output)
        return _status(found, failing)
    FileOptions(interval, tests).refuse()
    measured = compare_now((before, after), question, metric, options, output, chosen)
    return 0 if measured is None else _status(measured, failing)


def _files(before: Path, after: Path, question: Question, metric: str | None, options: FileOptions) -> Comparisons:
    from hati.studies.comparison import compare, pairs, with_bootstrap_intervals, with_median_tests
    from hati.subject.samples import read_samples

    files = [read_samples(path) for path in (before, after)]
    sides = [of_metric(file.samples, metric, path) for file, path in zip(files, (before, after), strict=True)]
    found, unmatched = pairs(*sides)
    comparisons = compare(found, question)
    if options.interval is IntervalChoice.BOOTSTRAP:
        seed = DEFAULT_SEED if options.seed is None else options.seed
        comparisons = with_bootstrap_intervals(comparisons, found, question, seed)
    if options.tests:
        comparisons = with_median_tests(comparisons, found)
    for path, names in ((before, unmatched.before), (after, unmatched.after)):
        if names:
            say(f"only in {path}: {', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}")
    for text in (*(warning for file in files for warning in file.warnings), *comparisons.warnings):
        say(f"warning: {text}")
    return comparisons


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
