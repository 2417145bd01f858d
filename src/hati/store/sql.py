"""The store in an SQL database: record and read."""

from __future__ import annotations

import atexit
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from msgspec import Struct
from sqlalchemy import (
    Connection,
    Engine,
    PoolProxiedConnection,
    Row,
    RowMapping,
    Select,
    delete,
    func,
    insert,
    select,
    update,
)

from hati.core import (
    Better,
    Event,
    Evidence,
    Machine,
    Metric,
    Observations,
    Run,
    Sample,
    StudyId,
    canonical_json,
    replace,
    sampled,
)
from hati.store import schema
from hati.store.databases import UNREADABLE, Database, Insertion, damaged, explained
from hati.store.rows import (
    Span,
    add_events,
    add_machine,
    checksum,
    read_events,
    read_machines,
    read_run,
    read_spans,
    run_rows,
    verify,
)
from hati.store.statements import OneTransaction, Transactions, repeated

if TYPE_CHECKING:
    from hati.store.ledger import Ledger
    from hati.store.volunteers import Volunteers

_TASK = re.compile(r"[0-9a-f]{16,}")
R = TypeVar("R")


class StudyRecord(Struct, frozen=True):
    """The record of a study: its id, its metrics, and its choice (JSON text)."""

    id: StudyId
    metrics: tuple[Metric, ...]
    choice: str | None


class Selection(Struct, frozen=True):
    """Selects runs by study key or keys, benchmark name, machine fingerprints, and the beginning of the task id.

    ``newest`` limits them to the last recorded ones. None: no restriction.
    """

    study: str | None = None
    benchmark: str | None = None
    task: str | None = None
    machine: tuple[str, ...] | None = None
    studies: tuple[str, ...] | None = None
    newest: int | None = None


_ENGINES = WeakSet[Engine]()


@atexit.register
def _dispose_engines() -> None:
    """Close what is open as the process ends: SQLite's files become one, also without a garbage collection."""
    for engine in list(_ENGINES):
        engine.dispose()


class SqlStore:
    """Studies and runs in a database; each call is a separate transaction.

    Implements ``hati.core.Store``. As safe for concurrent processes as the database.
    """

    def __init__(self, engine: Engine, database: Database) -> None:
        self._engine = engine
        self._database = database
        self._transactions = Transactions(engine, database)
        _ENGINES.add(engine)

    @cached_property
    def _run(self) -> Insertion:
        return Insertion.of(self._engine, self._database.insert_missing(schema.run), schema.run, "number")

    @cached_property
    def _observations(self) -> Insertion:
        return Insertion.of(self._engine, insert(schema.observations), schema.observations)

    @cached_property
    def ledger(self) -> Ledger:
        """The batches released to workers and volunteers."""
        from hati.store.ledger import Ledger

        return Ledger(self._transactions)

    @cached_property
    def volunteers(self) -> Volunteers:
        """The volunteers' machines, their releases and artefacts."""
        from hati.store.volunteers import Volunteers

        return Volunteers(self._transactions)

    @repeated
    def at_once(self, do: Callable[[Ledger, Volunteers], R]) -> R:
        """What a function returns that is given the ledger and the volunteers in one transaction.

        It is committed when this returns. The function may be called a second time, and raises nothing after a change.
        """
        from hati.store.volunteers import Volunteers

        with self._transactions.turn() as (connection, now):
            shared = OneTransaction(self._engine, self._database, connection, now)
            return do(self.ledger.within(shared), Volunteers(shared))

    @property
    def name(self) -> str:
        """The place of the store, for messages."""
        return self._database.name

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it writes on this machine; empty for a server or a store in memory."""
        return self._database.files

    def begin(self, study: StudyId, metrics: Sequence[Metric], *machines: Machine) -> StudyRecord:
        """Store a study with its machines, one of which is the study's, or find the stored study."""
        with explained(self._database), self._engine.begin() as connection:
            self._add_machines(connection, machines)
            wanted = select(schema.study).where(schema.study.c.key == study.key)
            known = self._one_study(connection, wanted)
            if known:
                return known
            # Another process may begin it at the same time.
            connection.execute(self._database.insert_missing(schema.study), _study_row(study, metrics))
            return self._one_study(connection, wanted) or StudyRecord(study, tuple(metrics), None)

    def keep_machines(self, machines: Sequence[Machine]) -> None:
        """Store machines with all their states."""
        with explained(self._database), self._engine.begin() as connection:
            self._add_machines(connection, machines)

    def latest(self, study: StudyId, machines: Sequence[str] = ()) -> tuple[StudyRecord, ...]:
        """The campaign of the same study with the highest number; empty without one, several if stores were merged.

        Several are in reverse order of all studies. ``machines`` are further fingerprints of the study's machine.
        """
        table = schema.study.c
        families = {replace(study, machine=machine).family for machine in (study.machine, *machines)}
        same = table.family.in_(families)
        highest = select(func.max(table.campaign)).where(same).scalar_subquery()
        wanted = select(schema.study).where(same, table.campaign == highest)
        with explained(self._database), self._engine.connect() as connection:
            rows = connection.execute(wanted.order_by(table.number.desc())).all()
            return tuple(self._read_study(row._mapping) for row in rows)

    def studies(self) -> tuple[StudyRecord, ...]:
        """All studies, in the order in which they were begun."""
        with explained(self._database), self._engine.connect() as connection:
            rows = connection.execute(select(schema.study).order_by(schema.study.c.number)).all()
            return tuple(self._read_study(row._mapping) for row in rows)

    def spans(self) -> Mapping[str, Span]:
        """The span of the runs of every study, by its key."""
        with explained(self._database), self._engine.connect() as connection:
            return read_spans(connection, self.name)

    def benchmarks(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the benchmarks that each study ran, by its key."""
        found: dict[str, list[str]] = defaultdict(list)
        table = schema.run.c
        with explained(self._database), self._engine.connect() as connection:
            rows = connection.execute(select(table.study, table.benchmark).group_by(table.study, table.benchmark))
            for study, benchmark in rows:
                found[study].append(benchmark)
        return {study: tuple(sorted(names)) for study, names in found.items()}

    def machine_spans(self, study: str) -> Mapping[str, Span]:
        """The span of a study's runs on each machine, by the fingerprint of the runs."""
        with explained(self._database), self._engine.connect() as connection:
            return read_spans(connection, self.name, study)

    def keep_choice(self, study: StudyId, choice: str) -> None:
        """Store the choice of a study, so that a resumed campaign repeats it."""
        self.change_choice(study, lambda _: choice)

    def choice(self, study: StudyId) -> str | None:
        """The choice of a study; None if the study is unknown, or has not chosen yet."""
        with explained(self._database), self._engine.connect() as connection:
            known = self._one_study(connection, select(schema.study).where(schema.study.c.key == study.key))
            return known.choice if known else None

    def change_choice(self, study: StudyId, change: Callable[[str | None], str]) -> str:
        """Store a study's choice changed by ``change``, without interference by other processes, and return it."""
        here = schema.study.c.key == study.key
        with explained(self._database), self._engine.begin() as connection:
            # The write comes first: from then on others wait, with a file and with a server.
            connection.execute(update(schema.study).where(here).values(choice=schema.study.c.choice))
            row = connection.execute(select(schema.study).where(here)).one_or_none()
            if row is None:
                return change(None)
            known = self._read_study(row._mapping).choice  # so that a new checksum hides no damage
            changed = change(known)
            if changed != known:
                checked = checksum(schema.study, {**row._mapping, "choice": changed})
                connection.execute(update(schema.study).where(here).values(choice=changed, checksum=checked))
        return changed

    def record(self, run: Run) -> bool:
        """Store a run, committed when this returns; False if its task had one already.

        Raises:
            MeasurementError: where the store was deleted meanwhile; its content is then in a file next to it.
        """
        with explained(self._database), self._database.transaction(self._engine) as connection:
            recorded = self._insert(connection, run)
        with explained(self._database):
            lost = self._database.rescued(self._engine)
        if lost is not None:
            raise lost
        return recorded

    def evidence(self, study: StudyId) -> Evidence:
        """All runs of a study, in the order in which they were recorded."""
        return Evidence(self.runs(Selection(study=study.key)))

    def runs(self, selection: Selection) -> tuple[Run, ...]:
        """The selected runs, in the order in which they were recorded."""
        inner = _selected(select(schema.run.c.number), selection)
        chosen = select(schema.run).where(schema.run.c.number.in_(inner))
        values = select(schema.observations).where(schema.observations.c.run.in_(inner))
        with explained(self._database), self._engine.connect() as connection:
            observed: dict[int, list[Row[Any]]] = defaultdict(list)
            for row in connection.execute(values.order_by(schema.observations.c.run, schema.observations.c.position)):
                observed[row.run].append(row)
            rows = connection.execute(chosen.order_by(schema.run.c.number)).all()
        return tuple(self._read_run(row, observed[row.number]) for row in rows)

    def forget(self, selection: Selection) -> int:
        """Remove the selected runs, and studies that have none left; return the number of removed runs."""
        inner = _selected(select(schema.run.c.number), selection)
        left = select(schema.run.c.study)
        with explained(self._database), self._engine.begin() as connection:
            self._database.take_turn(connection)
            studies = select(schema.run.c.study).where(schema.run.c.number.in_(inner)).distinct()
            touched = connection.scalars(studies).all()
            forgotten = connection.scalars(select(schema.run.c.task).where(schema.run.c.number.in_(inner))).all()
            connection.execute(delete(schema.observations).where(schema.observations.c.run.in_(inner)))
            removed = connection.execute(delete(schema.run).where(schema.run.c.number.in_(inner))).rowcount
            emptied = schema.study.c.key.in_(touched) & schema.study.c.key.not_in(left)
            self.ledger.forget(
                connection, forgotten, connection.scalars(select(schema.study.c.key).where(emptied)).all()
            )
            connection.execute(delete(schema.study).where(emptied))
        return removed

    def forget_study(self, key: str) -> bool:
        """Remove a study if it has no runs; return whether it was removed."""
        empty = (schema.study.c.key == key) & schema.study.c.key.not_in(select(schema.run.c.study))
        with explained(self._database), self._engine.begin() as connection:
            self._database.take_turn(connection)
            there = bool(connection.execute(delete(schema.study).where(empty)).rowcount)
            if there:
                self.ledger.forget(connection, (), [key])
            return there

    def replace(self, study: StudyId, before: Sequence[Run], after: Sequence[Run]) -> None:
        """Replace runs of a study by others, all or none; if a task has another run by then, that one is kept."""
        alone = select(schema.study.c.key).where(schema.study.c.key == study.key).with_for_update(key_share=True)
        with explained(self._database), self._engine.begin() as connection:
            connection.execute(alone)  # on a server: two processes that replace runs in different orders would deadlock
            for run in before:
                inner = select(schema.run.c.number).where(schema.run.c.task == run.task.id)
                connection.execute(delete(schema.observations).where(schema.observations.c.run.in_(inner)))
                connection.execute(delete(schema.run).where(schema.run.c.task == run.task.id))
            for run in after:
                self._insert(connection, run)

    def order_studies(self) -> None:
        """Sort studies by the start of their first run, those without runs at the end."""
        table = schema.study.c
        known = select(table.number, table.key).order_by(table.key).with_for_update()
        with explained(self._database), self._engine.begin() as connection:
            rows = sorted((number, key) for number, key in connection.execute(known))
            spans = read_spans(connection, self.name)
            measured = sorted((span.first, key) for key, span in spans.items())
            ordered = [key for _, key in measured] + sorted(key for _, key in rows if key not in spans)
            if ordered == [key for _, key in rows]:
                return
            for (number, _), key in zip(rows, ordered, strict=True):
                connection.execute(update(schema.study).where(table.key == key).values(number=-number))
            connection.execute(update(schema.study).where(table.number < 0).values(number=-table.number))

    def samples(self, selection: Selection) -> tuple[Sample, ...]:
        """The selected runs with measured observations, grouped into samples; failures are left out."""
        better = self._directions()
        grouped: dict[tuple[str, ...], list[tuple[Run, Observations]]] = defaultdict(list)
        for run in self.runs(selection):
            task = run.task
            for o in run.measured:
                place = (task.benchmark, o.metric, o.unit, better.get((task.study, o.metric), Better.LOWER))
                identity = (task.configuration.key, task.revision, task.workload.key, run.machine)
                grouped[place + identity].append((run, o))
        return tuple(_sample(key, observed) for key, observed in grouped.items())

    def machine(self, fingerprint: str) -> Machine | None:
        """The machine that has had a fingerprint; None if unknown."""
        return next((each for each in self.machines() if fingerprint in each.fingerprints), None)

    def machines(self) -> tuple[Machine, ...]:
        """All machines with their states, in the order of their identities."""
        with explained(self._database), self._engine.connect() as connection:
            return read_machines(connection, self.name)

    def add_events(self, events: Sequence[Event]) -> int:
        """Store events of findings, and return the number of new ones."""
        with explained(self._database), self._engine.begin() as connection:
            return add_events(connection, self._database.insert_missing(schema.event), events)

    def events(self) -> tuple[Event, ...]:
        """All events of findings, in the order of their times."""
        with explained(self._database), self._engine.connect() as connection:
            return read_events(connection, self.name)

    def close(self) -> None:
        """Close the connections to the database."""
        self._engine.dispose()

    def _add_machines(self, connection: Connection, machines: Sequence[Machine]) -> None:
        for machine in machines:
            add_machine(connection, self._database.insert_missing(schema.machine), machine)

    def _insert(self, connection: Connection | PoolProxiedConnection, run: Run) -> bool:
        """Insert a run with its observations unless its task has one; return whether it was inserted."""
        row, observed = run_rows(run)
        number = self._database.insert_run(connection, self._run, row)
        if number is None:
            return False
        if observed:
            self._database.insert_all(connection, self._observations, [{"run": number, **each} for each in observed])
        return True

    def _read_run(self, row: Row[Any], observed: Sequence[Row[Any]]) -> Run:
        try:
            return read_run(row, observed)
        except UNREADABLE as error:
            whole = isinstance(row.task, str) and _TASK.fullmatch(row.task)  # fewer digits are ambiguous
            remedy = f"remove the run by `hati forget --task {row.task}`" if whole else ""
            raise damaged(self.name, f"run {row.number} (task {row.task})", error, remedy) from error

    def _one_study(self, connection: Connection, query: Select) -> StudyRecord | None:  # type: ignore[type-arg]  # all columns
        row = connection.execute(query).one_or_none()
        return self._read_study(row._mapping) if row else None

    def _read_study(self, row: RowMapping) -> StudyRecord:
        try:
            return _read_study(row)
        except UNREADABLE as error:
            remedy = f"remove the study by `hati forget --study {row['key']}`"
            raise damaged(self.name, f"study {row['key']}", error, remedy) from error

    def _directions(self) -> dict[tuple[str, str], Better]:
        return {(s.id.key, m.name): m.better for s in self.studies() for m in s.metrics}


def _sample(key: tuple[str, ...], observed: list[tuple[Run, Observations]]) -> Sample:
    benchmark, metric, unit, better, *_ = key
    first = observed[0][0]
    return Sample(
        benchmark=benchmark,
        metric=Metric(metric, unit, Better(better)),
        runs=tuple(sampled(run, values) for run, values in observed),
        configuration=first.task.configuration,
        revision=first.task.revision,
        workload=first.task.workload,
        machine=first.machine,
    )


def _selected(query: Select, selection: Selection) -> Select:  # type: ignore[type-arg]  # any columns
    table = schema.run.c
    if selection.study is not None:
        query = query.where(table.study == selection.study)
    if selection.benchmark is not None:
        query = query.where(table.benchmark == selection.benchmark)
    if selection.task is not None:
        query = query.where(func.substr(table.task, 1, len(selection.task)) == selection.task)
    if selection.machine is not None:
        query = query.where(table.machine.in_(selection.machine))
    if selection.studies is not None:
        query = query.where(table.study.in_(selection.studies))
    if selection.newest is not None:
        query = query.order_by(table.number.desc()).limit(selection.newest)
    return query


def _study_row(study: StudyId, metrics: Sequence[Metric]) -> dict[str, object]:
    row = {
        "key": study.key,
        "family": study.family,
        "kind": study.kind,
        "parameters": study.parameters,
        "seed": study.seed,
        "machine": study.machine,
        "campaign": study.campaign,
        "token": study.token,
        "metrics": canonical_json([[m.name, m.unit, m.better] for m in metrics]),
    }
    return {**row, "checksum": checksum(schema.study, {**row, "choice": None})}


def _read_study(row: RowMapping) -> StudyRecord:
    verify(schema.study, row)
    study = StudyId(row["kind"], row["parameters"], row["seed"], row["machine"], row["campaign"], row["token"])
    if (study.key, study.family) != (row["key"], row["family"]):
        raise ValueError("its parameters are another's")
    metrics = tuple(Metric(name, unit, Better(better)) for name, unit, better in json.loads(row["metrics"]))
    return StudyRecord(study, metrics, row["choice"])
