"""As what benchmarks were defined when their runs were made: the studies' parameters tell it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from hati.core import Configuration, Run, StudyId, Workload
from hati.logic.syntax import Method
from hati.store import SqlStore
from hati.studies.assertion import DefinedRun
from hati.wiring.asserting import method_named
from hati.wiring.methods import is_called

_KIND = "assertion"


def defined_runs(store: SqlStore, runs: Sequence[Run]) -> Iterator[DefinedRun]:
    """Each run of formulas with the definition of its benchmark then, empty where the store does not tell it."""
    studies = {record.id.key: record.id for record in store.studies() if record.id.kind == _KIND}
    points = {key: list(_points(studies[key])) for key in {run.task.study for run in runs} & studies.keys()}
    known: dict[tuple[str, str, str], str] = {}
    for run in runs:
        what = (run.task.study, run.task.benchmark, run.task.revision)
        if what not in known:
            found = {each.definition for each in points.get(run.task.study, ()) if each.is_of(run)}
            known[what] = found.pop() if len(found) == 1 else ""
        yield DefinedRun(run, known[what])


class _Point(Struct, frozen=True, dict=True):
    """What a study says of a method: ``Point.identity`` of its time."""

    method: Method
    definition: str
    revision: str
    configuration: Configuration

    @cached_property
    def known(self) -> dict[str, Any]:
        """The parts of the definition."""
        return dict(json.loads(self.definition))

    def is_of(self, run: Run) -> bool:
        """Whether the run is one of it."""
        task = run.task
        same = (self.revision, self.configuration) == (task.revision, task.configuration)
        on = Workload(self.known["workload"]) == task.workload
        return same and on and is_called(self.method, self.known, task.benchmark)


def _points(study: StudyId) -> Iterator[_Point]:
    for text, definition, revision, configuration in json.loads(study.parameters)["points"]:
        yield _Point(method_named(text), definition, revision, Configuration(configuration))
