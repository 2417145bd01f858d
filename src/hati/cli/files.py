"""``hati compare`` of two files of samples."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.cli.documents import VerdictFormat, write_document
from hati.cli.output import say
from hati.cli.parameters import DEFAULT_SEED
from hati.core import InputError
from hati.core.wording import listed, suggestion

if TYPE_CHECKING:
    from hati.core import Sample
    from hati.studies.comparison import Comparisons, Question, Unmatched

_NAMED = 5


class IntervalChoice(StrEnum):
    """How the interval of a ratio is found."""

    T = "t"
    BOOTSTRAP = "bootstrap"


class FileOptions(Struct, frozen=True):
    """The options that are of files only, and the ``seed``; None and False: not given."""

    history: list[Path] | None
    interval: IntervalChoice | None
    tests: bool
    seed: int | None

    def refuse(self) -> None:
        """See that none of them is given with benchmarks.

        Raises:
            InputError: where one is.
        """
        given = {"--history": self.history, "--interval": self.interval, "--tests": self.tests or None}
        for name, value in given.items():
            if value is not None:
                raise InputError(f"{name} is for files of samples", fix="leave it out, or compare two files")


def compare_files(
    before: Path,
    after: Path,
    question: Question,
    metric: str | None,
    options: FileOptions,
    output: str,
    chosen: VerdictFormat,
) -> Comparisons:
    """Compare two files, write what came out and return it.

    Raises:
        InputError: where a file cannot be read, or nothing of the one is in the other.
    """
    from hati.report import comparisons_document, comparisons_json
    from hati.studies.comparison import (
        across,
        compare,
        interference_warnings,
        machine_warnings,
        pairs,
        session_warnings,
        steady_pair,
        with_warm_up,
        without_warm_up,
    )
    from hati.subject.samples import read_samples

    files = [read_samples(path) for path in (before, after)]
    sides = [of_metric(file.samples, metric, path) for file, path in zip(files, (before, after), strict=True)]
    read, unmatched = pairs(*sides)
    steady = [steady_pair(pair) for pair in read]
    found = [each.pair for each in steady]
    history = (sample for path in options.history or () for sample in read_samples(path).samples)
    earlier = [without_warm_up(sample)[0] for sample in history]
    cautions = (*machine_warnings(found), *session_warnings(found), *interference_warnings(found))
    comparisons = with_warm_up(compare(found, question, cautions, earlier), steady)
    if options.interval is IntervalChoice.BOOTSTRAP:
        from hati.studies.comparison import with_bootstrap_intervals

        seed = DEFAULT_SEED if options.seed is None else options.seed
        comparisons = with_bootstrap_intervals(comparisons, found, question, seed)
    if options.tests:
        from hati.studies.comparison import with_median_tests

        comparisons = with_median_tests(comparisons, found)
    for text in across(found):
        say(text)
    _say_unmatched(before, after, unmatched)
    for text in (*(warning for file in files for warning in file.warnings), *comparisons.warnings):
        say(f"warning: {text}")
    write_document(comparisons_document(comparisons), lambda: comparisons_json(comparisons), chosen, output)
    return comparisons


def of_metric(samples: tuple[Sample, ...], metric: str | None, path: Path) -> tuple[Sample, ...]:
    """Those of a metric, or all.

    Raises:
        InputError: where there are none.
    """
    chosen = tuple(sample for sample in samples if metric in {None, sample.metric.name})
    if not chosen:
        known = sorted({sample.metric.name for sample in samples})
        raise InputError(f"{path} has no samples of the metric {metric!r}", fix=suggestion(metric or "", known))
    return chosen


def _say_unmatched(before: Path, after: Path, unmatched: Unmatched) -> None:
    for path, names in ((before, unmatched.before), (after, unmatched.after)):
        if names:
            say(f"only in {path}: {listed(names, _NAMED)}")
