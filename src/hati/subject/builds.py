"""Builds of the subject: one for each revision and each set of build-time options."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from hati.core import Benchmark, InputError, Outcome, Task, digest, setting_text
from hati.core.placeholders import fill
from hati.subject.folders import build_root, remove
from hati.subject.programs import Program, Warden
from hati.subject.recipe import arguments, variables
from hati.subject.revision import tree_files
from hati.subject.setback import Setback, failure

_LONGEST_SECONDS = 3600.0


class Builds:
    """Makes each build once, in a copy of the tree; one that failed is not tried again by this object.

    Builds stay in ``.hati/builds`` and serve later campaigns.
    """

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._failed: dict[str, Setback] = {}

    def tree(self, benchmark: Benchmark, task: Task, warden: Warden) -> Path:
        """The folder in which the task's programs run: the project's own where nothing is built.

        Raises:
            Setback: where the build fails.
            OSError: where the tree cannot be copied.
        """
        if benchmark.build is None:
            return self._root
        bindings = [binding for binding in benchmark.bindings if binding.build]
        settings = {b.option: task.configuration[b.option] for b in bindings if b.option in task.configuration}
        about = [[b.option, b.argument, b.env] for b in bindings]
        key = digest([task.revision, benchmark.build, about, settings])
        folder, mark = build_root(self._root) / key, build_root(self._root) / f"{key}.built"
        if key in self._failed:
            raise self._failed[key]
        if not mark.exists():
            values = {name: setting_text(setting) for name, setting in settings.items()}
            values["revision"] = task.revision
            argv = (*(fill(a, values) for a in benchmark.build), *arguments(bindings, settings, values))
            env = {**self._environment, **variables(bindings, settings)}
            try:
                self._build(Program(argv, folder, env, _LONGEST_SECONDS), warden)
            except Setback as setback:
                self._failed[key] = setback
                raise
            mark.touch()
        return folder

    def _build(self, program: Program, warden: Warden) -> None:
        remove(program.cwd)
        _copy(self._root, program.cwd)
        try:
            ending = warden.run_aside(program)
        except InputError as error:
            raise Setback(Outcome.NOT_STARTED, f"the build: {error}") from None
        warden.clear()
        if why := failure("the build", program, ending):
            remove(program.cwd)
            raise Setback(Outcome.NOT_STARTED, f"{why}\n{ending.output}".rstrip(), ending)


def _copy(source: Path, target: Path) -> None:
    for path in tree_files(source):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / path, target / path, follow_symlinks=False)
    target.mkdir(parents=True, exist_ok=True)
