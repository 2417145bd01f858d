"""A project, its store and this machine, together."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.campaign import Dispatcher, JobMaker
from hati.core import Benchmark, Engine, InputError, Machine, MeasurementError, Metric, StudyId, Task, replace
from hati.core.wording import listed
from hati.file_errors import FULL, free_text
from hati.project import FILE, VOLUNTEERS, WORKERS, Project, by_workers, known_engine, parse_project, read_project
from hati.project.project import project_around
from hati.store import SqlStore, find_store, open_store, read_store, without_password
from hati.studies.command_line import CommandLine
from hati.subject import (
    GIVEN_NAME,
    InPlace,
    Revisions,
    Sources,
    Trees,
    describe_counting,
    make_own,
    remedy,
    remember_redirected,
    this_machine,
    with_counter_source,
)

if TYPE_CHECKING:
    from hati.engine.engines import Placement
    from hati.space import Space
    from hati.steering import Requirements
    from hati.subject.table import MeasuredTable

_NAMED = 3
IN_MEMORY = "sqlite://"
"""The store in memory, which is lost at the end."""
STORE_VARIABLE = "HATI_STORE"
"""The environment variable that names the store where `--store` does not."""
Announce = Callable[[str], None]
"""Receives sentences on what happens before and between the runs."""


def mute(_: str) -> None:
    """Announce nothing."""


class Urgency(Struct, frozen=True):
    """The priority of a study among those that share machines, and when it is due, in seconds since 1970."""

    priority: int = 0
    due: float | None = None


NO_HURRY = Urgency()


class Workplace(Struct, frozen=True):
    """A project on this machine, its store and its current revision; or a ``table`` that replaces its program.

    ``folder`` has the files of the current revision; a table has none. Methods of formulas have their own revisions:
    for them there is no ``folder``, and ``revision`` is ``""``. ``whole`` is the project's space before ``--set``
    narrowed it. ``pool`` are the names of the machines that share each study, empty if only this machine measures.
    ``urgency`` is that of its studies among those of other campaigns. ``classes`` are those of machines over which the
    repetitions of each configuration are spread. ``given`` are the words that name the project or the table on the
    command line, and ``named_store`` is the store that it names.
    """

    project: Project
    store: SqlStore
    machine: Machine
    revision: str
    table: MeasuredTable | None = None
    folder: InPlace | None = None
    announce: Announce = mute
    whole: Space | None = None
    pool: tuple[str, ...] = ()
    urgency: Urgency = NO_HURRY
    classes: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    named_store: str | None = None

    def command(self, benchmark: str) -> CommandLine:
        """What commands about a benchmark of the same project or table share."""
        names = [own.name for own in self.project.benchmarks]
        several = len(names) > 1 and benchmark in names
        return CommandLine(
            self.given, benchmark if several else "", self._store_words, resumable=self.store.name != IN_MEMORY
        )

    @property
    def _store_words(self) -> tuple[str, ...]:
        """The words that name the store; none where the environment names it, with its password."""
        if self.named_store is None or self.named_store == os.environ.get(STORE_VARIABLE):
            return ()
        return "--store", without_password(self.named_store)

    @property
    def _placement(self) -> Placement:
        """What batches need of machines."""
        from hati.engine.engines import Placement

        return Placement(self.project.machine_options, self.classes)

    @property
    def _asked(self) -> Requirements | None:
        """What is asked of batches, whatever their tasks are."""
        if not self.by_workers:
            return None
        from hati.steering import Requirements

        replicas = self.project.replicate if self.project.engine == VOLUNTEERS else 1
        return Requirements(replicas=replicas, priority=self.urgency.priority, due=self.urgency.due)

    @property
    def measured_on(self) -> Machine:
        """The machine of new studies: this one, or one that represents the pool or all workers."""
        if self.by_workers:
            if self.project.engine == VOLUNTEERS:
                return Machine.of({"pool": VOLUNTEERS})
            return Machine.of({"pool": ", ".join(self.pool) or WORKERS})
        return Machine.of({"pool": ", ".join(self.pool)}) if self.pool else self.machine

    @property
    def by_workers(self) -> bool:
        """Whether workers or volunteers run the tasks, and not this process."""
        return by_workers(self.project.engine) and self.table is None

    @property
    def member(self) -> tuple[int, int]:
        """The index of this machine in the pool and the pool's size; (0, 1) without a pool, or if workers share all."""
        shared = self.pool and not self.by_workers
        return (self.pool.index(self.machine.name), len(self.pool)) if shared else (0, 1)

    def begin(self, study: StudyId, metrics: Sequence[Metric]) -> None:
        """Record a study in the store, with its machines."""
        self.store.begin(study, metrics, self.machine, self.measured_on)
        if self.by_workers:
            self.store.ledger.withdraw_earlier(study)

    def revisions(self, python: str = "") -> Revisions:
        """The revisions of the project; releases of packages are installed for the interpreter ``python``."""
        on_left_out = partial(_warn, mute if self.folder is not None else self.announce, self.project.root)
        return Revisions(self.project.root, python, sources_of(self.project, self.store.files), on_left_out)

    @property
    def repetitions(self) -> float:
        """The number of runs available for each configuration: infinite, except from a table."""
        return math.inf if self.table is None else self.table.repetitions

    @contextmanager
    def engine(
        self, benchmarks: tuple[Benchmark, ...], announce: Announce = mute, trees: Trees | None = None
    ) -> Iterator[Engine[Task]]:
        """The engine that runs tasks of benchmarks, each in the files of its revision, by default those in the folder.

        Raises:
            InputError: where the project names an unknown engine, or one that cannot run the benchmarks.
        """
        from hati import engine  # loads each module when used: the table's module loads designs

        if self.table is not None:
            yield engine.TableEngine(self.table, self.machine)
            return
        project, files = self.project, trees or self.folder or Trees(self.project.root)
        if not self.by_workers:
            for description in filter(None, map(describe_counting, benchmarks)):
                announce(description)
        about = (project.root, benchmarks, self.machine, files, project.secrets, announce)
        setup = engine.EngineSetup(*about, self.store, self.pool, self._asked, self._placement)
        with engine.engine_of(project.engine)(setup) as used:
            yield Dispatcher(used, JobMaker({each.name: each for each in benchmarks}, files.sources))


def with_engine(
    place: Workplace, name: str | None, replicate: int | None = None, urgency: Urgency = NO_HURRY
) -> Workplace:
    """The workplace with another engine, another number of volunteers that have to agree, and an urgency.

    Raises:
        InputError: for an unknown engine, and for a number of volunteers or an urgency with an engine without them.
    """
    project = place.project
    if name is not None:
        project = replace(project, engine=known_engine(name))
    if replicate is not None:
        if project.engine != VOLUNTEERS:
            raise InputError("--replicate is for volunteers, whose results are checked", fix="add --engine volunteers")
        project = replace(project, replicate=replicate)
    if urgency != NO_HURRY and not by_workers(project.engine):
        raise InputError(
            "--priority and --due are for campaigns that share workers", fix="add --engine workers, or leave them out"
        )
    return replace(place, project=project, urgency=urgency)


def existing_store(path: Path, place: str | None) -> SqlStore:
    """The store of the project at a path; the project file is not read.

    Raises:
        InputError: where it does not exist, with the folder of a project around the path.
    """
    root = path if path.is_dir() else path.parent
    around = None if place or path.is_file() or (root / FILE).is_file() else project_around(root)
    if around is not None and not (root / ".hati").is_dir():
        raise InputError(f"there is no {FILE} in this folder", fix=f"run it in the project's folder, {around}")
    return read_store(place or _default_store(root))


def own_store(path: Path, place: str | None) -> SqlStore:
    """The store of the project at a path, created if it does not exist; the project file is not read.

    Raises:
        InputError: where there is no project, and no store is named.
    """
    root = _project_root(path, place)
    if place is None:
        _make_folder(root, ", or name a store elsewhere by --store")
    return open_store(place or _default_store(root))


def found_store(path: Path, place: str | None) -> SqlStore | None:
    """The store of the project at a path if it exists, else None.

    Raises:
        InputError: as ``own_store``.
    """
    return find_store(place or _default_store(_project_root(path, place)))


def _project_root(path: Path, place: str | None) -> Path:
    root = path if path.is_dir() else path.parent
    known = path.is_file() or (root / "hati.toml").is_file() or (root / ".hati").is_dir()
    if place is None and not known:
        raise InputError(f"there is no hati.toml in {root.resolve()}", fix="name a store by --store")
    return root


def workplace(path: Path, place: str | None, announce: Announce = mute) -> Workplace:
    """Read the project at a path, and open its store; files that are left out are announced.

    Raises:
        InputError: for any error in the project, and where the path names a table.
    """
    project, store = _opened(path, place)
    folder = InPlace(project.root, sources_of(project, store.files))
    _warn(announce, project.root, folder.left_out(folder.revision))
    here = _machine_of(store, announce)
    pool = _pool(project, here)
    return Workplace(
        project,
        store,
        here,
        folder.revision,
        folder=folder,
        announce=announce,
        pool=pool,
        given=_given(path),
        named_store=place,
    )


def _given(path: Path) -> tuple[str, ...]:
    return () if path == Path() else (str(path),)


def workplace_around(root: Path, place: str | None, announce: Announce = mute) -> Workplace:
    """The workplace of formulas, in a folder that need not have a project file; without one, it has no benchmarks.

    Raises:
        InputError: for any error in an existing project file, and where its pool lacks this machine.
    """
    found = _around(root, place, announce)
    _pool(found.project, found.machine)
    return found


def _around(root: Path, place: str | None, announce: Announce) -> Workplace:
    if (root / FILE).exists() or not root.is_dir():
        project, store = _opened(root, place)
    else:
        project, store = _stored(parse_project("", root / FILE), place)
    return Workplace(project, store, _machine_of(store, announce), "", announce=announce, given=_given(root))


def workplace_to_look(root: Path, place: str | None, announce: Announce = mute) -> Workplace:
    """The workplace of formulas for commands that measure nothing: no store is created, and no folder for it.

    Raises:
        InputError: for any error in an existing project file.
    """
    known = Path(_default_store(root if root.is_dir() else root.parent)).exists()
    return _around(root, place if place is not None or known else IN_MEMORY, announce)


def _machine_of(store: SqlStore, announce: Announce) -> Machine:
    """This machine, with those of its states that only the store has."""
    return this_machine(datetime.now(UTC), announce).with_states_of(store.machines())


def _pool(project: Project, here: Machine) -> tuple[str, ...]:
    if project.machines and here.name not in project.machines and not by_workers(project.engine):
        raise InputError(
            f"{here.name} is not one of the machines of {project.file}: {', '.join(project.machines)}",
            fix=f"add its name, or set {GIVEN_NAME} to the name that it has there",
        )
    return tuple(sorted(project.machines))


def _opened(path: Path, place: str | None) -> tuple[Project, SqlStore]:
    _refuse_table(path)
    project = read_project(path)
    counting = tuple(map(with_counter_source, project.benchmarks))
    return _stored(replace(project, benchmarks=counting), place)


def _stored(project: Project, place: str | None) -> tuple[Project, SqlStore]:
    if place is None:
        _make_folder(project.root)
    store = open_store(place or _default_store(project.root))
    remember_redirected()
    return project, store


def sources_of(project: Project, own: Iterable[Path] = ()) -> Sources:
    """The rule for which files of a project's folder belong to its revision; ``own`` are files that Hati keeps."""
    text = project.file.read_text(encoding="utf-8") if project.file.is_file() else ""
    return Sources.of(project.sources, text, own)


def _warn(announce: Announce, root: Path, left_out: tuple[Path, ...]) -> None:
    if left_out:
        names = listed((path.as_posix() for path in left_out), _NAMED)
        why, places = "untracked or new", "git or to `[subject] sources`"
        if Revisions(root).history is None:
            why, places = "new, until another file changes", "`[subject] sources`"
        announce(
            f"warning: {names} {'is' if len(left_out) == 1 else 'are'} not part of the measured revision, as "
            f"{why}; add sources to {places}, and exclude results as `!results/**`"
        )


def _refuse_table(path: Path) -> None:
    if not path.is_file():
        return
    from hati.subject.table import is_table  # rarely needed: most paths are folders

    if is_table(path):
        raise InputError(
            f"{path} is a table of measurements, and this command runs a program",
            fix="name a folder with hati.toml; for revisions in a table, use `hati screen --where revision=...` "
            "with --recalibrate, and `hati history`",
        )


def _default_store(root: Path) -> str:
    return str(root / ".hati" / "store.sqlite")


def _make_folder(root: Path, otherwise: str = "") -> None:
    """Create Hati's folder, which measuring needs wherever the store is; ``otherwise`` ends the fix in errors."""
    try:
        make_own(root)
    except OSError as error:
        kind = MeasurementError if error.errno in FULL else InputError
        reason = f"{error.strerror}{free_text(root) if error.errno in FULL else ''}"
        raise kind(f"{root / '.hati'} cannot be made: {reason}", fix=f"{remedy(error)}{otherwise}") from error
