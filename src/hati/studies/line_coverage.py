"""The lines that runs executed, merged: which configurations add lines, and which lines none executes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, Run, setting_text
from hati.core.wording import counted, ranges
from hati.document.document import Align, Column, Document, Table, percent
from hati.document.publishing import Of, Settings

_SHOWN = 20
"""The most ranges of lines that a table names for a file."""


class AddingConfiguration(Struct, frozen=True):
    """A configuration: the numbers of lines that it executes, that it adds to those before it, and of all so far."""

    configuration: Configuration
    lines: int
    added: int
    total: int


class FileLines(Struct, frozen=True):
    """A file's numbers of executable and of executed lines, and the lines that no run executed."""

    file: str
    lines: int
    executed: int
    missed: tuple[int, ...]


class LineCoverage(Struct, frozen=True):
    """The merged lines of a benchmark's runs.

    ``adding`` are the configurations by which the coverage grows: each adds the most lines to those before it, and
    among equals the first in alphabetical order. The others of the ``configurations`` add none.
    """

    benchmark: str
    runs: int
    configurations: int
    adding: tuple[AddingConfiguration, ...]
    files: tuple[FileLines, ...]

    @property
    def lines(self) -> int:
        """The number of executable lines."""
        return sum(each.lines for each in self.files)

    @property
    def executed(self) -> int:
        """The number of lines that any run executed."""
        return sum(each.executed for each in self.files)


def merged_lines(benchmark: str, runs: Sequence[Run]) -> LineCoverage | None:
    """The merged lines of runs; None where none has any."""
    found = [(run, lines) for run in runs if (lines := run.executed_lines)]
    if not found:
        return None
    known = sorted({(file, abs(line)) for _, lines in found for file, own in lines.items() for line in own})
    places = {line: place for place, line in enumerate(known)}
    rows: dict[Configuration, NDArray[np.bool_]] = {}
    for run, lines in found:
        row = rows.setdefault(run.task.configuration, np.zeros(len(known), dtype=bool))
        row[[places[file, line] for file, own in lines.items() for line in own if line > 0]] = True
    executed = np.logical_or.reduce(list(rows.values()))
    return LineCoverage(benchmark, len(found), len(rows), tuple(_adding(rows)), tuple(_files(known, executed)))


def _adding(rows: Mapping[Configuration, NDArray[np.bool_]]) -> Iterator[AddingConfiguration]:
    """Greedily, the configuration that adds the most lines next, until none adds any."""
    configurations = sorted(rows, key=str)
    matrix = np.array([rows[each] for each in configurations])
    covered = np.zeros(matrix.shape[1], dtype=bool)
    while True:
        gains = np.sum(matrix & ~covered, axis=1)
        best = int(np.argmax(gains))
        if not gains[best]:
            return
        covered |= matrix[best]
        lines, total = int(np.sum(matrix[best])), int(np.sum(covered))
        yield AddingConfiguration(configurations[best], lines, int(gains[best]), total)


def _files(known: Sequence[tuple[str, int]], executed: NDArray[np.bool_]) -> Iterator[FileLines]:
    by_file: dict[str, list[tuple[int, bool]]] = {}
    for (file, line), ran in zip(known, executed.tolist(), strict=True):
        by_file.setdefault(file, []).append((line, ran))
    for file, lines in by_file.items():
        missed = tuple(line for line, ran in lines if not ran)
        yield FileLines(file, len(lines), len(lines) - len(missed), missed)


def coverage_document(found: LineCoverage) -> Document:
    """The report of merged lines."""
    most, missed = found.adding[0].lines if found.adding else 0, found.lines - found.executed
    answer = (
        f"{counted(found.configurations, 'configuration')} executed {found.executed:,} of "
        f"{counted(found.lines, 'line')} ({percent(found.executed / found.lines)}), the best alone {most:,}; "
        f"{counted(missed, 'line')} {'was' if missed == 1 else 'were'} missed by all."
    )
    facts = (("runs", f"{found.runs:,}"),)
    return Document(f"Lines executed by {found.benchmark}", answer, facts, (_adding_table(found), _files_table(found)))


def _adding_table(found: LineCoverage) -> Table:
    columns = (Column("configuration"), *(Column(name, align=Align.RIGHT) for name in ("lines", "adds", "total")))
    names = {name for each in found.adding for name in each.configuration}
    varied = sorted(name for name in names if len({str(each.configuration.get(name)) for each in found.adding}) > 1)
    rows = tuple((_shown(each.configuration, varied), each.lines, each.added, each.total) for each in found.adding)
    others = found.configurations - len(found.adding)
    notes = ["Each adds the most lines to those above it."]
    notes += [f"{counted(others, 'further configuration')} add{'s' if others == 1 else ''} no line."] if others else []
    return Table("Configurations that add lines", columns, rows, tuple(notes))


def _shown(configuration: Configuration, names: Sequence[str]) -> str:
    own = [f"{name}={setting_text(configuration[name])}" for name in names if name in configuration]
    return " ".join(own) or "the only one"


def _files_table(found: LineCoverage) -> Table:
    columns = (
        Column("file"),
        Column("lines", align=Align.RIGHT),
        Column("executed", align=Align.RIGHT),
        Column("missed lines"),
    )
    rows = tuple((each.file, each.lines, each.executed, _missed(each)) for each in found.files)
    return Table("Files", columns, rows)


def _missed(file: FileLines) -> str | None:
    found = ranges(file.missed)
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more if found else None


class AddingConfigurationJson(Struct, frozen=True):
    """A configuration that adds lines, with the number that it executes, that it adds, and of all so far."""

    configuration: Settings
    lines: int
    added: int
    total: int


class LineCoverageJson(Struct, frozen=True, tag_field="format", tag="hati-coverage-1"):
    """The merged lines of a benchmark's runs; ``adding`` in the order in which the configurations add most."""

    benchmark: str
    runs: int
    configurations: int
    lines: Annotated[int, Of("lines")]
    executed: Annotated[int, Of("executed")]
    adding: list[AddingConfigurationJson]
    files: list[FileLines]
