"""Compare files of samples: find the files of each side, and compare their samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from glob import glob, has_magic
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import InputError, Sample, replace
from hati.core.wording import listed, suggestion
from hati.studies import comparison
from hati.studies.comparison import Comparisons, SteadyPair, Unmatched, steady_pair
from hati.studies.comparison.conclusion import several_processes
from hati.subject.samples import ImportedSamples, measured_files, read_all, read_samples
from hati.wiring.kinds.paired import CompareRequest
from hati.wiring.study_types import Steps

if TYPE_CHECKING:
    from hati.wiring.workplace import Announce

_NAMED = 5
_MANY_RUNS = 10_000
"""The number of runs from which on a comparison may take seconds."""


class FileSides(Struct, frozen=True):
    """The files and the name of each side."""

    before: tuple[Path, ...]
    after: tuple[Path, ...]
    names: tuple[str, str]

    @property
    def same(self) -> bool:
        """Whether both sides are the same files."""
        return {path.resolve() for path in self.before} == {path.resolve() for path in self.after}

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of both sides."""
        return (*self.before, *self.after)

    @classmethod
    def of(cls, before: Sequence[str], after: Sequence[str]) -> FileSides:
        """The files that the words for each side denote.

        Raises:
            InputError: for a pattern or a folder without files, and for a file on both sides unless they are the same.
        """
        found = cls(files_of(before), files_of(after), (_named(before, "before"), _named(after, "after")))
        known = {path.resolve() for path in found.before}
        both = [str(path) for path in found.after if path.resolve() in known]
        if both and not found.same:
            raise InputError(
                f"{listed(both)} {'is' if len(both) == 1 else 'are'} on both sides", fix="leave it out on one side"
            )
        return found


def _named(words: Sequence[str], side: str) -> str:
    return words[0] if len(words) == 1 else side


def is_pattern(word: str) -> bool:
    """Whether a word is a pattern of files, and not a file's name."""
    return has_magic(word) and not Path(word).exists()


def files_of(words: Sequence[str]) -> tuple[Path, ...]:
    """The files that words denote, in their order, each once.

    Raises:
        InputError: for an empty name, a pattern that no file matches, and a folder without files.
    """
    found = (file for word in words for path in _paths(word) for file in measured_files(path))
    return tuple({file.resolve(): file for file in found}.values())


def _paths(word: str) -> list[Path]:
    if not word:
        raise InputError("the name of a file is empty", fix="name a file, a pattern or a folder")
    if not is_pattern(word):
        return [Path(word)]
    paths = [Path(name) for name in sorted(glob(word, recursive=True))]  # noqa: PTH207 - that finds hidden files
    if not paths:
        raise InputError(f"no file matches {word!r}", fix="check the folder and the pattern")
    return paths


class ComparedFiles(Struct, frozen=True):
    """The comparison of files; ``notes`` describe the pairs, ``warnings`` the files, ``hints`` a better measurement."""

    comparisons: Comparisons
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    hints: tuple[str, ...]


def compare_files(
    sides: FileSides, request: CompareRequest, history: Sequence[Path], announce: Announce, steps: Steps
) -> ComparedFiles:
    """Compare the files of two sides; the files that are read are counted, and a long comparison is announced.

    Raises:
        InputError: where a file cannot be read, or no sample has a counterpart on the other side.
    """
    with steps("reading files") as watch:
        counted = _counted(sides.files, watch)
        files = [read_all(islice(counted, len(side))) for side in (sides.before, sides.after)]
    runs = sum(len(sample.runs) for file in files for sample in file.samples)
    if runs >= _MANY_RUNS:
        announce(f"comparing {runs:,} runs of benchmarks")
    read, unmatched = comparison.pairs(*_chosen(files, sides, request))
    steady = [steady_pair(pair) for pair in read]
    comparisons = _compared(steady, request, history)
    alone = any(row.one_run_each for row in comparisons.rows)
    formats = dict.fromkeys(each for file in files for each in file.formats)
    return ComparedFiles(
        comparisons,
        (*comparison.across([each.pair for each in steady]), *_unmatched_lines(sides.names, unmatched)),
        tuple(_warnings(files, sides)),
        tuple(several_processes(formats)) if alone else (),
    )


def _counted(files: Sequence[Path], watch: Callable[[int, int], None]) -> Iterator[Path]:
    """The files; before each, ``watch`` gets the number of those before it, and of all."""
    for place, path in enumerate(files):
        watch(place, len(files))
        yield path


def _compared(steady: Sequence[SteadyPair], request: CompareRequest, history: Sequence[Path]) -> Comparisons:
    question = request.question
    read = [sample for path in history for sample in read_samples(path).samples]
    earlier = [comparison.without_warm_up(sample)[0] for sample in comparison.gathered(read)]
    found = comparison.with_bridges([each.pair for each in steady], earlier)
    warnings = [
        *comparison.machine_warnings(found),
        *comparison.session_warnings(found),
        *comparison.interference_warnings(found),
    ]
    compared = comparison.compare(found, question, warnings, earlier)
    if history and not compared.remembered and not any(pair.bridges for pair in found):
        text = "--history has no benchmark of these with several runs of one revision: it does not count"
        compared = replace(compared, warnings=(*compared.warnings, text))
    compared = comparison.with_warm_up(comparison.with_estimates_within_process(compared, found, question), steady)
    if request.within_process:
        compared = comparison.with_verdicts_within_process(compared)
    if request.interval == "bootstrap":
        compared = comparison.with_bootstrap_intervals(compared, found, question, request.seed)
    compared = comparison.without_clusters_across_machines(compared)
    return comparison.with_median_tests(compared, found) if request.tests else compared


def history_files(words: Sequence[str], sides: FileSides) -> tuple[Path, ...]:
    """The files of earlier samples, without those that are themselves compared."""
    compared = {path.resolve() for path in sides.files}
    return tuple(path for path in files_of(words) if path.resolve() not in compared)


def _chosen(files: Sequence[ImportedSamples], sides: FileSides, request: CompareRequest) -> list[tuple[Sample, ...]]:
    """The requested samples of each side."""
    found = [of_metric(file.samples, request.metric, name) for file, name in zip(files, sides.names, strict=True)]
    if not request.benchmarks:
        return found
    known = dict.fromkeys(sample.benchmark for side in found for sample in side)
    for text in request.benchmarks:
        if not any(_is_named(name, text) for name in known):
            raise InputError(f"--benchmark: no benchmark is named {text!r}", fix=suggestion(text, known))
    return [
        tuple(one for one in side if any(_is_named(one.benchmark, text) for text in request.benchmarks))
        for side in found
    ]


def _is_named(benchmark: str, text: str) -> bool:
    return text == benchmark or fnmatchcase(benchmark, text)


def _warnings(files: Sequence[ImportedSamples], sides: FileSides) -> Iterator[str]:
    """Warnings about the files, each once; those about single processes are in the result."""
    if sides.same:
        yield "both sides are the same files: a difference between them is not possible"
    texts = [text for file in files for text in file.warnings if text not in file.one_process]
    yield from dict.fromkeys(texts)


def of_metric(samples: tuple[Sample, ...], metric: str | None, where: str | Path) -> tuple[Sample, ...]:
    """The samples of a metric, or all samples.

    Raises:
        InputError: where there is none.
    """
    chosen = tuple(sample for sample in samples if metric in {None, sample.metric.name})
    if not chosen:
        known = sorted({sample.metric.name for sample in samples})
        raise InputError(f"{where} has no samples of the metric {metric!r}", fix=suggestion(metric or "", known))
    return chosen


def _unmatched_lines(sides: tuple[str, str], unmatched: Unmatched) -> Iterator[str]:
    for side, names in zip(sides, (unmatched.before, unmatched.after), strict=True):
        if names:
            yield f"only in {side}: {listed(names, _NAMED)}"
