"""Builds of the subject: one for each revision and each set of build-time options; their total size is bounded."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path, PurePath

from hati.core import Benchmark, Commands, InputError, Outcome, Setting, Task, digest, setting_text
from hati.core.benchmark import fill, names
from hati.core.wording import listed
from hati.subject.folders import build_root, remove
from hati.subject.revisions.trees import Tree, Trees
from hati.subject.running.programs import Program, RunFailure, Supervisor, SupervisorLost, failure
from hati.subject.running.recipe import arguments, variables

MOST_BYTES = 8 * 2**30
_MARK = ".built"
_LOCK = ".lock"


class KeptBuilds:
    """Finished builds below a folder, each with a marker file that records its size and its last use.

    If they are larger than ``most`` bytes in total, the least recently used are removed, except those that this object
    has found or made. A build without a marker was left by a killed process, and is removed too, unless another process
    is building at that moment: it may be that build.
    """

    def __init__(self, root: Path, most: int = MOST_BYTES) -> None:
        self._root = root
        self._most = most
        self._used: set[str] = set()

    def find(self, key: str) -> Tree | None:
        """The build if it was finished, else None."""
        mark = self._mark(key)
        try:
            within = PurePath(json.loads(mark.read_text())["within"])
        except (OSError, ValueError, TypeError, KeyError):
            return None
        with suppress(OSError):
            mark.touch()
        self._used.add(key)
        return Tree(self._root / key, within)

    def make(self, key: str, build: Callable[[Path], Tree]) -> Tree:
        """Build in a new folder, mark the build as finished, and remove old builds if necessary.

        If ``build`` raises anything, nothing is kept.

        Raises:
            OSError: where its marker cannot be written.
        """
        place = self._root / key
        self._remove_leftovers()  # they may fill the disk
        with _lock(self._root, fcntl.LOCK_SH):
            remove(place)
            try:
                made = build(place)
            except BaseException:
                remove(place)
                raise
            self._mark(key).write_text(json.dumps({"within": str(made.within), "bytes": _size(place)}))
        self._used.add(key)
        self._make_room()
        return made

    def _make_room(self) -> None:
        marks = {
            mark.stem: mark for mark in sorted(self._root.glob(f"*{_MARK}"), key=lambda mark: mark.stat().st_mtime)
        }
        sizes = {name: _recorded_size(mark) for name, mark in marks.items()}
        for name, mark in marks.items():
            if sum(sizes.values()) <= self._most:
                break
            if name not in self._used:
                mark.unlink(missing_ok=True)
                remove(self._root / name)
                sizes.pop(name)

    def _remove_leftovers(self) -> None:
        with _lock(self._root, fcntl.LOCK_EX | fcntl.LOCK_NB) as alone:
            for place in self._root.iterdir() if alone else ():
                if place.is_dir() and place.name not in self._used and not self._mark(place.name).exists():
                    remove(place)

    def _mark(self, key: str) -> Path:
        return self._root / f"{key}{_MARK}"


@contextmanager
def _lock(root: Path, kind: int) -> Iterator[bool]:
    """Hold the lock of a folder of builds, which ends with this process; yield whether it was acquired."""
    descriptor = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, kind)
        except OSError:  # another process has it, or the file system has no locks
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _recorded_size(mark: Path) -> int:
    try:
        return int(json.loads(mark.read_text())["bytes"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0


def _size(folder: Path) -> int:
    total = 0
    for place, _, inside in os.walk(folder):
        for name in inside:
            with suppress(OSError):
                total += (Path(place) / name).lstat().st_size
    return total


_LONGEST_SECONDS = 3600.0
_NAMED = 3


class Builds:
    """Makes each build once, in a copy of the revision's tree; a failed build is not tried again by this object.

    Builds are kept in ``.hati/builds`` for later campaigns on machines of the same class (``build_class``), until newer
    ones need their space.
    """

    def __init__(self, root: Path, environment: Mapping[str, str], trees: Trees, machine_class: str) -> None:
        self._kept = KeptBuilds(build_root(root))
        self._environment = environment
        self._trees = trees
        self._class = machine_class
        self._failed: dict[str, RunFailure] = {}
        self._lost: set[str] = set()

    def tree(self, benchmark: Benchmark, task: Task, supervisor: Supervisor) -> Tree:
        """The tree in which the task's programs run: the revision's own if nothing is built.

        Raises:
            RunFailure: where the revision's files are not available, or the build fails.
            OSError: where the tree cannot be copied.
        """
        if not benchmark.build:
            return self._trees.tree(task.revision)
        bindings = [binding for binding in benchmark.bindings if binding.build]
        settings = {b.option: task.configuration[b.option] for b in bindings if b.option in task.configuration}
        about = [[b.option, b.argument, b.env] for b in bindings]
        parameters = _parameters(benchmark, task)
        key = digest([self._class, task.revision, *benchmark.build, about, settings, parameters])
        if key in self._failed:
            raise self._failed[key]
        known = self._kept.find(key)
        if known is not None:
            return known
        values = {name: setting_text(setting) for name, setting in {**settings, **parameters}.items()}
        values |= {"revision": task.revision, **benchmark.paths}
        filled = [tuple(fill(argument, values) for argument in command) for command in benchmark.build]
        filled[-1] += arguments(bindings, settings, values)
        build = partial(self._build, task.revision, tuple(filled), variables(bindings, settings), supervisor)
        try:
            return self._kept.make(key, build)
        except RunFailure as failed:
            if key in self._lost or not isinstance(failed, SupervisorLost):
                self._failed[key] = failed
            self._lost.add(key)
            raise

    def _without(self, revision: str) -> str:
        """A remark on the left-out files, whose absence may be why a build failed; empty without any."""
        left_out = [path.as_posix() for path in self._trees.left_out(revision)]
        return f" (built without untracked files: {listed(left_out, _NAMED)})" if left_out else ""

    def _build(
        self, revision: str, commands: Commands, variables: Mapping[str, str], supervisor: Supervisor, place: Path
    ) -> Tree:
        made = self._trees.copy(revision, place)
        environment = {**self._environment, **made.environment, **variables}
        for argv in commands:
            program = Program(argv, made.folder, environment, _LONGEST_SECONDS)
            try:
                ending = supervisor.run_aside(program)
                supervisor.clear()
            except InputError as error:
                raise RunFailure(Outcome.NOT_BUILT, f"the build: {error}") from None
            except SupervisorLost as lost:
                raise SupervisorLost(Outcome.NOT_BUILT, f"the build: {lost}") from None
            if why := failure("the build", program, ending):
                raise RunFailure(Outcome.NOT_BUILT, f"{why}{self._without(revision)}\n{ending.output}".rstrip(), ending)
        return made


def _parameters(benchmark: Benchmark, task: Task) -> dict[str, Setting]:
    """The workload's parameters that the build uses; other parameters do not need another build."""
    texts = [*chain.from_iterable(benchmark.build), *(b.argument for b in benchmark.bindings if b.build and b.argument)]
    named = {placeholder.name for text in texts for placeholder in names(text)}
    return {name: setting for name, setting in task.workload.items() if name in named}
