"""``hati compare`` of files of samples."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.cli.documents import shows_warnings, write_document
from hati.cli.output import check_output, say
from hati.core import InputError

if TYPE_CHECKING:
    from hati.cli.sides import Words
    from hati.wiring.comparing_files import FilesRequest


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


def compare_files(sides: Words, request: FilesRequest, output: str, chosen: str) -> int:
    """Compare the files of two sides, and write what came out; the exit status.

    Raises:
        InputError: where a file cannot be read, or nothing of the one side is on the other.
    """
    from hati.report import ComparisonsJson, comparisons_document, publish
    from hati.studies import comparison
    from hati.wiring import comparing_files

    files = comparing_files.FileSides.of(sides.before, sides.after)
    history = comparing_files.history_files(request.history, files)
    check_output(output, *files.files, *history)
    found = comparing_files.compare_files(files, request, history)
    comparisons = found.comparisons
    for text in found.notes:
        say(text)
    for text in (*found.warnings, *(() if shows_warnings(chosen) else comparisons.warnings)):
        say(f"warning: {text}")
    if found.hints:
        say("\n".join(found.hints))
    write_document(comparisons_document(comparisons), lambda: publish(comparisons, ComparisonsJson), chosen, output)
    return comparisons.status(comparison.parse_failing(request.fail_on))
