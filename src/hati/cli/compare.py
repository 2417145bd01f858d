"""``hati compare``: files of samples, or two variants measured now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.documents import VerdictFormat, VerdictOption
from hati.cli.files import FileOptions, IntervalChoice, compare_files
from hati.cli.output import STDOUT, check_output
from hati.cli.pairs import PairOptions, compare_now
from hati.cli.parameters import DEFAULT_SEED, HERE, DryRun, Fresh, Output, StatisticName, StorePlace
from hati.cli.sides import Words
from hati.core import Stopping, parse_share
from hati.core.requests import LARGEST_SEED

if TYPE_CHECKING:
    pass

_Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="BEFORE AFTER",
        help="Files in any format that `hati import` reads, or benchmarks to measure now.",
        show_default=False,
    ),
]
_BeforeFiles = Annotated[
    list[str] | None,
    typer.Option("--before", metavar="FILE...", help="Files before: names, patterns or folders; repeatable."),
]
_AfterFiles = Annotated[
    list[str] | None,
    typer.Option("--after", metavar="FILE...", help="Files after: names, patterns or folders; repeatable."),
]
_Benchmarks = Annotated[
    list[str] | None,
    typer.Option(
        "--benchmark",
        metavar="NAME",
        help="Files: benchmarks to compare, by name or pattern such as '*sort*' [default: all]; repeatable.",
    ),
]
_Margin = Annotated[
    str, typer.Option("--margin", metavar="FRACTION", help="Largest difference that counts as the same, such as 5%.")
]
_Alpha = Annotated[
    str, typer.Option("--alpha", metavar="FRACTION", help="False discovery rate over all comparisons, such as 1%.")
]
_Metric = Annotated[str | None, typer.Option("--metric", metavar="NAME", help="Metric to compare [default: all].")]
_FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="VERDICTS",
        help="Verdicts that fail the command: slower, faster (status 1), inconclusive (3), or none.",
    ),
]
_Project = Annotated[
    Path, typer.Option("--project", metavar="PATH", help="Benchmarks: folder with hati.toml, or the file.")
]
_SETTINGS = "OPTION=SETTING,..."
_Both = Annotated[
    str | None,
    typer.Option("--set", metavar=_SETTINGS, help="Benchmarks: settings of both sides."),
]
_SetBefore = Annotated[
    str | None, typer.Option("--set-before", metavar=_SETTINGS, help="Benchmarks: settings of BEFORE only.")
]
_SetAfter = Annotated[
    str | None, typer.Option("--set-after", metavar=_SETTINGS, help="Benchmarks: settings of AFTER only.")
]
_Stop = Annotated[
    Stopping | None,
    typer.Option(
        "--stop",
        help="Benchmarks: stop as soon as it is decided (anytime, the default), or at the fixed number of runs.",
    ),
]
_Duet = Annotated[
    bool, typer.Option("--duet", help="Benchmarks: run both of a pair at the same time, each on its own core.")
]
_Budget = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="RUNS|TIME", help="Benchmarks: a number of runs, or a time such as 5m [default: 64]."
    ),
]
_Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="SEED",
        min=0,
        max=LARGEST_SEED,
        help="Random seed, for the order in pairs or the bootstrap [default: 1].",
    ),
]
_History = Annotated[
    list[str] | None,
    typer.Option(
        "--history",
        metavar="FILE...",
        help="Files: earlier samples, to estimate the variance between runs; repeatable.",
    ),
]
_Interval = Annotated[
    IntervalChoice | None,
    typer.Option(
        "--interval", help="Files: method of the interval of a ratio [default: t]; verdicts always use Student's t."
    ),
]
_WithinProcess = Annotated[
    bool,
    typer.Option(
        "--within-process", help="Files: decide by observations where each side is one process; valid for these only."
    ),
]
_Tests = Annotated[
    bool,
    typer.Option("--tests", help="Files: add classical tests of run medians, and Shapiro-Wilk's of normality."),
]


def compare(
    names: _Names = None,
    before: _BeforeFiles = None,
    after: _AfterFiles = None,
    benchmarks: _Benchmarks = None,
    margin: _Margin = "5%",
    alpha: _Alpha = "1%",
    statistic: StatisticName = "auto",
    metric: _Metric = None,
    history: _History = None,
    interval: _Interval = None,
    within_process: _WithinProcess = False,
    tests: _Tests = False,
    fail_on: _FailOn = "slower,inconclusive",
    project: _Project = HERE,
    both: _Both = None,
    set_before: _SetBefore = None,
    set_after: _SetAfter = None,
    stop: _Stop = None,
    duet: _Duet = False,
    budget: _Budget = None,
    seed: _Seed = None,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: VerdictOption = VerdictFormat.TEXT.value,
) -> int:
    """Compare two samples: slower, faster, same or undecided.

    Samples come from files, several a side or one, or are measured now. An undecided comparison names the runs that
    would decide.
    """
    from hati.studies.comparison import Question, parse_failing, parse_statistic
    from hati.wiring.comparing_files import FilesRequest

    question = Question(parse_share(alpha), parse_share(margin), parse_statistic(statistic))
    parse_failing(fail_on)
    words = Words.of(names or (), before or (), after or ())
    of_files = FileOptions(metric, benchmarks, history, interval, within_process, tests, seed)
    of_pairs = PairOptions(project, both, set_before, set_after, stop, duet, budget, seed, fresh, dry_run, store)
    if names and words.pair is not None and of_pairs.means(*words.pair):
        check_output(output)
        of_files.refuse()
        asked = {
            "metric": metric,
            "alpha": question.alpha,
            "margin": question.margin,
            "statistic": statistic,
            "fail_on": fail_on,
        }
        return compare_now(words.pair, asked, of_pairs, output, chosen)
    of_pairs.refuse()
    asked_of_files = FilesRequest(
        metric=metric,
        benchmarks=tuple(benchmarks or ()),
        history=tuple(history or ()),
        alpha=question.alpha,
        margin=question.margin,
        statistic=statistic,
        fail_on=fail_on,
        interval="t" if interval is None else interval.value,
        within_process=within_process,
        tests=tests,
        seed=DEFAULT_SEED if seed is None else seed,
    )
    return compare_files(words, asked_of_files, output, chosen)
