"""``hati compare`` of files of samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.cli.documents import shows_warnings, write_document
from hati.cli.output import check_output, say
from hati.cli.parameters import DEFAULT_SEED
from hati.cli.sides import FileSides, files_of
from hati.core import InputError, replace
from hati.core.wording import listed, suggestion

if TYPE_CHECKING:
    from hati.core import Sample
    from hati.studies.comparison import Comparisons, Question, SteadyPair, Unmatched
    from hati.subject.samples import ImportedSamples

_NAMED = 5


class IntervalChoice(StrEnum):
    """How the interval of a ratio is found."""

    T = "t"
    BOOTSTRAP = "bootstrap"


class FileOptions(Struct, frozen=True):
    """What is asked of files; None and False: not given. ``metric`` and ``seed`` are options of benchmarks too."""

    metric: str | None
    benchmarks: list[str] | None
    history: list[str] | None
    interval: IntervalChoice | None
    within_process: bool
    tests: bool
    seed: int | None

    def refuse(self) -> None:
        """See that none of them is given with benchmarks.

        Raises:
            InputError: where one is.
        """
        given = {
            "--benchmark": self.benchmarks,
            "--history": self.history,
            "--interval": self.interval,
            "--within-process": self.within_process or None,
            "--tests": self.tests or None,
        }
        for name, value in given.items():
            if value is not None:
                raise InputError(f"{name} is for files of samples", fix="leave it out, or compare two files")


def compare_files(sides: FileSides, question: Question, options: FileOptions, output: str, chosen: str) -> Comparisons:
    """Compare the files of two sides, write what came out and return it.

    Raises:
        InputError: where a file cannot be read, or nothing of the one side is on the other.
    """
    from hati.report import comparisons_document, comparisons_json, several_processes
    from hati.studies.comparison import across, pairs, steady_pair
    from hati.subject.samples import read_all

    history = _history_files(options.history or (), sides)
    check_output(output, *sides.files, *history)
    files = [read_all(side) for side in (sides.before, sides.after)]
    read, unmatched = pairs(*_chosen(files, sides, options))
    steady = [steady_pair(pair) for pair in read]
    comparisons = _compared(steady, question, options, history)
    for text in across([each.pair for each in steady]):
        say(text)
    _say_unmatched(sides.names, unmatched)
    for text in (*_warnings(files, sides), *(() if shows_warnings(chosen) else comparisons.warnings)):
        say(f"warning: {text}")
    if any(row.one_run_each for row in comparisons.rows):
        say("\n".join(several_processes(dict.fromkeys(each for file in files for each in file.formats))))
    write_document(comparisons_document(comparisons), lambda: comparisons_json(comparisons), chosen, output)
    return comparisons


def _compared(
    steady: Sequence[SteadyPair], question: Question, options: FileOptions, history: Sequence[Path]
) -> Comparisons:
    from hati.studies import comparison
    from hati.subject.samples import read_samples

    found = [each.pair for each in steady]
    read = [sample for path in history for sample in read_samples(path).samples]
    earlier = [comparison.without_warm_up(sample)[0] for sample in comparison.gathered(read)]
    cautions = [
        *comparison.machine_warnings(found),
        *comparison.session_warnings(found),
        *comparison.interference_warnings(found),
    ]
    told = comparison.compare(found, question, cautions, earlier)
    if history and not told.remembered:
        text = "--history has no benchmark of these with several runs of one revision: it does not count"
        told = replace(told, warnings=(*told.warnings, text))
    told = comparison.with_warm_up(comparison.with_estimates_within_process(told, found, question), steady)
    if options.within_process:
        told = comparison.with_verdicts_within_process(told)
    if options.interval is IntervalChoice.BOOTSTRAP:
        seed = DEFAULT_SEED if options.seed is None else options.seed
        told = comparison.with_bootstrap_intervals(told, found, question, seed)
    return comparison.with_median_tests(told, found) if options.tests else told


def _history_files(words: Sequence[str], sides: FileSides) -> tuple[Path, ...]:
    """The files of earlier samples: those that are themselves compared say nothing new."""
    compared = {path.resolve() for path in sides.files}
    return tuple(path for path in files_of(words) if path.resolve() not in compared)


def _chosen(files: Sequence[ImportedSamples], sides: FileSides, options: FileOptions) -> list[tuple[Sample, ...]]:
    """The samples of each side that are asked for."""
    found = [of_metric(file.samples, options.metric, name) for file, name in zip(files, sides.names, strict=True)]
    if not options.benchmarks:
        return found
    known = dict.fromkeys(sample.benchmark for side in found for sample in side)
    for text in options.benchmarks:
        if not any(_is_named(name, text) for name in known):
            raise InputError(f"--benchmark: no benchmark is named {text!r}", fix=suggestion(text, known))
    return [
        tuple(one for one in side if any(_is_named(one.benchmark, text) for text in options.benchmarks))
        for side in found
    ]


def _is_named(benchmark: str, text: str) -> bool:
    return text == benchmark or fnmatchcase(benchmark, text)


def _warnings(files: Sequence[ImportedSamples], sides: FileSides) -> Iterator[str]:
    """What a reader of the files should know, each once; what is said of single processes is in the result."""
    if sides.same:
        yield "both sides are the same files: a difference between them is not possible"
    texts = [text for file in files for text in file.warnings if text not in file.one_process]
    yield from dict.fromkeys(texts)


def of_metric(samples: tuple[Sample, ...], metric: str | None, where: str | Path) -> tuple[Sample, ...]:
    """Those of a metric, or all.

    Raises:
        InputError: where there are none.
    """
    chosen = tuple(sample for sample in samples if metric in {None, sample.metric.name})
    if not chosen:
        known = sorted({sample.metric.name for sample in samples})
        raise InputError(f"{where} has no samples of the metric {metric!r}", fix=suggestion(metric or "", known))
    return chosen


def _say_unmatched(sides: tuple[str, str], unmatched: Unmatched) -> None:
    for side, names in zip(sides, (unmatched.before, unmatched.after), strict=True):
        if names:
            say(f"only in {side}: {listed(names, _NAMED)}")
