"""Measure every configuration of a project once, and write a table."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hati.campaign import campaign
from hati.cli.progress import progress
from hati.core import Budget, Configuration, Evidence, InputError, Run
from hati.document import Table
from hati.render import table_csv
from hati.space import enumerate_configurations
from hati.space.document import measured_table
from hati.studies.measurement import Measurement, measurement_id
from hati.wiring import Workplace, workplace

ROUNDS = 3
"""The number of attempts for configurations whose runs fail."""


@dataclass(frozen=True)
class Measured:
    """One run of every configuration, in the order of measurement; ``failed`` counts the other runs."""

    place: Workplace
    runs: tuple[Run, ...]
    failed: int
    seconds: float


def measure(project: Path, store: str, wanted: Sequence[Configuration] = ()) -> Measured:
    """Measure configurations once, by default all, one at a time in random order; runs in the store are not repeated.

    Raises:
        InputError: if some could not be measured.
        MeasurementError: if none could.
    """
    place = workplace(project, store)
    left = tuple(wanted) or tuple(enumerate_configurations(place.project.space))
    runs, seconds, failed = list[Run](), 0.0, 0
    for number in range(1, ROUNDS + 1):
        evidence = _round(place, left, number)
        runs += evidence.done
        seconds += evidence.seconds
        failed += len(evidence.failed)
        done = {run.task.configuration for run in evidence.done}
        left = tuple(configuration for configuration in left if configuration not in done)
        if not left:
            return Measured(place, tuple(runs), failed, seconds)
    raise InputError(f"{len(left)} configurations failed {ROUNDS} times, such as {left[0]}")


def write_table(measured: Measured, file: Path) -> None:
    """Write options and metrics of the runs as a gzipped CSV file, and their origin into a file next to it."""
    names = {
        *measured.place.project.space.names,
        *(m.name for b in measured.place.project.benchmarks for m in b.metrics),
    }
    table = measured_table(measured.runs)
    kept = [place for place, column in enumerate(table.columns) if column.name in names]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    text = table_csv(Table(table.title, tuple(table.columns[place] for place in kept), rows))
    file.write_bytes(gzip.compress(text.encode(), mtime=0))
    origin = {
        "runs": len(measured.runs),
        "failed": measured.failed,
        "seconds": round(measured.seconds, 1),
        "from": min(run.started for run in measured.runs).date().isoformat(),
        "machine": {
            name: value
            for name, value in measured.place.machine.properties
            if name in {"cpus", "memory", "processor", "system"}
        },
    }
    origin_file(file).write_text(json.dumps(origin, indent=2) + "\n")


def origin_file(table: Path) -> Path:
    """The file with the origin of a table's measurements."""
    return table.with_name(table.name.partition(".")[0] + ".origin.json")


def _round(place: Workplace, configurations: tuple[Configuration, ...], number: int) -> Evidence:
    benchmark = place.project.benchmark(None)
    runs = len(configurations)
    study = measurement_id(benchmark, configurations, place.revision, str(runs), number, place.machine.fingerprint)
    wanted = Measurement(study, benchmark, configurations, place.revision, Budget(runs=runs))
    place.store.begin(study, benchmark.metrics, place.machine)
    with place.engine((benchmark,)) as engine, progress(f"{place.project.name}, round {number}") as observe:
        campaign(wanted, engine, place.store, Budget(runs=runs), observe)
    return place.store.evidence(study)
