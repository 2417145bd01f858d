"""What a project file says of Python, for the interpreters that measure."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hati.core import Revision, RevisionKind, replace
from hati.project import FILE, Past, Project, PythonTable, read_project
from hati.python import Collector, Environment, Interpreter, Network, Recording, declared, see_installed
from hati.subject import Revisions
from hati.subject.running.run_failure import RunFailure

Environments = Callable[[Revision], Environment | None]
"""What a past revision runs in; None: what the working tree does."""


def interpreter_of(table: PythonTable) -> Interpreter:
    """What runs the functions of the working tree."""
    usual = Interpreter()
    return Interpreter(table.interpreter, table.roots or usual.roots, table.frozen_modules, table.hash_seed)


def interpreter_around(root: Path) -> Interpreter:
    """The same of the project in a folder, if it has a project file.

    Raises:
        InputError: for what is wrong with the file.
    """
    return interpreter_of(read_project(root).python if (root / FILE).is_file() else PythonTable())


def recording_of(table: PythonTable) -> Recording:
    """How much is recorded."""
    said = table.recording
    found = Recording()
    return replace(
        found,
        observations=found.observations if said.observations is None else said.observations,
        seconds=found.seconds if said.seconds is None else said.seconds,
        warmup=found.warmup if said.warmup is None else said.warmup,
        overhead=found.overhead if said.overhead is None else said.overhead,
        collector=found.collector if said.collector is None else Collector(said.collector),
        memory=found.memory if said.memory is None else said.memory,
    )


def environments_of(project: Project, revisions: Revisions) -> Environments:
    """An environment of its own for each past revision that says what it needs, if that is not what is needed today.

    A release of a package has none: it is installed with what it needs. What is given raises an InputError for a
    revision that says what it needs wrongly, or in a way that nothing here installs.
    """
    said = project.python.environment
    if said.past is Past.TODAY:
        return lambda _: None
    network = Network.ALLOWED if said.network else Network.REFUSED
    environment = Environment(said.extra, said.options, network)

    today = cache(partial(declared, project.root))

    @cache
    def found(revision: Revision) -> Environment | None:
        if revision.kind is RevisionKind.PACKAGE:
            return None
        with TemporaryDirectory(prefix="hati-") as folder:
            try:
                tree = revisions.trees(Path(folder)).tree(revision.id).folder
            except RunFailure:  # who measures it is told
                return None
            needed = declared(tree, str(revision))
            if needed is None or needed == today():
                return None
            see_installed(tree, str(revision))
        return environment

    return found
