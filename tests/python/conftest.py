"""A project with measured functions, and runs of them by the local engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import LISTS, WORK, Measure

from hati.core import Benchmark, Configuration, Job, Run, Task
from hati.engine import LocalEngine
from hati.subject import Revisions, machine


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with what is measured in ``lists`` and what it is measured on in ``work``."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lists.py").write_text(LISTS)
    (tmp_path / "src" / "work.py").write_text(WORK)
    return tmp_path


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    """Runs benchmarks once each, at revisions as people call them."""

    def measured(root: Path, *benchmarks: Benchmark, revisions: tuple[str, ...] = ()) -> list[Run]:
        known = Revisions(root) if revisions else None
        names = [known.find(text).id for text in revisions] if known else ["here"]
        jobs = tuple(
            Job(Task("study", "design", one.name, Configuration(), name, one.workload, 1), one, name)
            for one in benchmarks
            for name in names
        )
        trees = known.trees(root) if known else None
        with LocalEngine(root, benchmarks, machine(), lock=tmp_path / "lock", trees=trees) as engine:
            return list(engine.run(jobs))

    return measured
