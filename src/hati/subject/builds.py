"""Builds of the subject: one for each revision and each set of build-time options."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain
from pathlib import Path

from hati.core import Benchmark, Commands, InputError, Outcome, Setting, Task, digest, setting_text
from hati.core.placeholders import fill, names
from hati.core.wording import listed
from hati.subject.folders import build_root
from hati.subject.kept_builds import KeptBuilds
from hati.subject.programs import Program, Supervisor
from hati.subject.recipe import arguments, variables
from hati.subject.revisions.trees import Tree, Trees
from hati.subject.run_failure import RunFailure, SupervisorLost, failure

_LONGEST_SECONDS = 3600.0
_NAMED = 3


class Builds:
    """Makes each build once, in a copy of the revision's tree; one that failed is not tried again by this object.

    Builds stay in ``.hati/builds`` and serve later campaigns, until newer ones need their space.
    """

    def __init__(self, root: Path, environment: Mapping[str, str], trees: Trees) -> None:
        self._kept = KeptBuilds(build_root(root))
        self._environment = environment
        self._trees = trees
        self._failed: dict[str, RunFailure] = {}
        self._lost: set[str] = set()

    def tree(self, benchmark: Benchmark, task: Task, supervisor: Supervisor) -> Tree:
        """Where the task's programs run: in the revision's own tree where nothing is built.

        Raises:
            RunFailure: where the revision's files cannot be had, or the build fails.
            OSError: where the tree cannot be copied.
        """
        if not benchmark.build:
            return self._trees.tree(task.revision)
        bindings = [binding for binding in benchmark.bindings if binding.build]
        settings = {b.option: task.configuration[b.option] for b in bindings if b.option in task.configuration}
        about = [[b.option, b.argument, b.env] for b in bindings]
        parameters = _parameters(benchmark, task)
        key = digest([task.revision, *benchmark.build, about, settings, *([parameters] if parameters else [])])
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
        """Files that a build may have failed without."""
        names = [path.as_posix() for path in self._trees.left_out(revision)]
        return f" (built without untracked files: {listed(names, _NAMED)})" if names else ""

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
    """The parameters of the workload that the build names: others make no other build."""
    texts = [*chain.from_iterable(benchmark.build), *(b.argument for b in benchmark.bindings if b.build and b.argument)]
    named = {placeholder.name for text in texts for placeholder in names(text)}
    return {name: setting for name, setting in task.workload.items() if name in named}
