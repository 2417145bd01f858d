"""Run the jobs of an envelope: fill the signed templates, build once, and perform the steps in the sandbox."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from threading import Event
from typing import Any

from .artefacts import Kept
from .envelope import CheckedJob, SignedStatement, inside
from .files import EnvelopeError, LimitExceeded
from .limits import Limits
from .sandbox import Sandbox, SandboxPlace, perform

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def fill(text: str, values: Mapping[str, str]) -> str:
    """The template with each placeholder replaced by its value.

    Raises:
        EnvelopeError: where a brace stands alone, or a placeholder has no value.

    >>> fill("{work}/{{x}}", {"work": "/w"})
    '/w/{x}'
    """

    def replaced(found: re.Match[str]) -> str:
        if found[1] is None:
            if len(found[0]) == 2:
                return found[0][0]
            raise EnvelopeError(f"a brace stands alone in the template {text!r}")
        if found[1] not in values:
            raise EnvelopeError(f"the placeholder {{{found[1]}}} of the template {text!r} has no value")
        return values[found[1]]

    return _TOKEN.sub(replaced, text)


def names(texts: Iterable[str]) -> set[str]:
    """The names of all placeholders in templates.

    >>> sorted(names(["{work}/{{x}}", "{n}"]))
    ['n', 'work']
    """
    return {found[1] for text in texts for found in _TOKEN.finditer(text) if found[1] is not None}


def fill_all(argv: Iterable[str], values: Mapping[str, str]) -> list[str]:
    """An argument list with its placeholders filled.

    Raises:
        EnvelopeError: where one cannot be filled.
    """
    return [fill(part, values) for part in argv]


def option_arguments(template: str, setting: str, values: Mapping[str, str]) -> list[str]:
    """The arguments that an option adds: the template is split as by a shell, ``{}`` is the setting.

    One without ``{}`` is a flag, added if the setting is ``true``.

    Raises:
        EnvelopeError: where the template is malformed.

    >>> option_arguments("--level {}", "3", {})
    ['--level', '3']
    """
    if "{}" not in template and setting != "true":
        return []
    try:
        parts = shlex.split(template)
    except ValueError as error:
        raise EnvelopeError(f"the argument {template!r} cannot be split: {error}") from None
    return fill_all(parts, {**values, "": setting})


_LONGEST_BUILD = 3600.0


class BuildFailure(Exception):  # noqa: N818 - it ends a job, whose result it is
    """A step of the build failed."""


@dataclass(frozen=True)
class JobRunner:
    """What runs jobs here: the sandbox, the owner's limits, the kept builds, and descriptors of held locks.

    ``root`` is a folder for the files of runs, ``lost`` ends a run whose lease is lost.
    """

    sandbox: Sandbox
    limits: Limits
    kept: Kept
    root: Path
    locks: Sequence[int]
    lost: Event

    def result(self, statement: SignedStatement, job: CheckedJob, artefact: Path) -> dict[str, Any]:
        """Run a job, and return its result, which may be a failure of the subject.

        Raises:
            EnvelopeError: where a template cannot be filled.
            LimitExceeded: where the run exceeds a limit of the owner, or cannot be made here.
        """
        began, clock = time.time(), time.monotonic()
        try:
            report = self._run(statement, job, self._tree(statement, job, artefact))
        except BuildFailure as failure:
            report = {"outcome": "not_built", "detail": str(failure)}
        except OSError as error:
            raise LimitExceeded(f"a file cannot be written: {error.strerror}") from None
        stdout = report.get("stdout", "")
        return {
            "task": job.task,
            "began": began,
            "seconds": time.monotonic() - clock,
            "outcome": report["outcome"],
            "detail": report["detail"],
            "stdout": stdout,
            "output": report.get("output"),
            "status": report.get("status"),
            "usage": report.get("usage"),
            "digest": hashlib.sha256(base64.b64decode(stdout)).hexdigest(),
        }

    def _tree(self, statement: SignedStatement, job: CheckedJob, artefact: Path) -> Path:
        """The subject's files: unpacked, and built once for each set of build settings."""
        if not statement.build:
            return self.kept.tree(statement.artefact[:32], self.kept.unpacked(artefact, self.limits.disk))
        settings = {each.option: job.settings[each.option] for each in _of_build(statement, job)}
        about = json.dumps([statement.digest, settings, _build_values(statement, job)], sort_keys=True)
        key = hashlib.sha256(about.encode()).hexdigest()[:32]

        def build(folder: Path) -> None:
            self.kept.unpacked(artefact, self.limits.disk)(folder)
            self._build(statement, job, folder)

        return self.kept.tree(key, build)

    def _build(self, statement: SignedStatement, job: CheckedJob, tree: Path) -> None:
        with self.sandbox.place(tree, self.root) as place:
            bindings = _of_build(statement, job)
            values = {**_build_values(statement, job), "tree": _cwd(place, statement)}
            values.update({each.option: job.settings[each.option] for each in bindings})
            commands = [fill_all(command, values) for command in statement.build]
            for each in bindings:
                if each.argument is not None:
                    commands[-1] += option_arguments(each.argument, job.settings[each.option], values)
            env = {**place.env, **{each.env: job.settings[each.option] for each in bindings if each.env}}
            steps = _steps("the build", commands, _LONGEST_BUILD, "not_built")
            order: dict[str, Any] = {
                "files": [],
                "steps": steps,
                "cleanup": [],
                "output": None,
                "env": env,
                "watched": place.tree,
            }
            order.update(folders=[place.work], cwd=_cwd(place, statement))
            report = perform(self.sandbox, tree, order, self.limits, self.locks, self.lost, building=True)
        if report["outcome"] != "completed":
            raise BuildFailure(report["detail"])

    def _run(self, statement: SignedStatement, job: CheckedJob, tree: Path) -> dict[str, Any]:
        with self.sandbox.place(tree, self.root) as place:
            values = {
                **job.settings,
                **job.values,
                "work": place.work,
                "tree": _cwd(place, statement),
                "port": str(place.port),
            }
            files = []
            for path, text in job.files:
                filled = str(PurePosixPath(place.work) / inside(fill(path, values).removeprefix(f"{place.work}/")))
                values[f"file:{path}"] = filled
                files.append([filled, text])
            command = fill_all(statement.command, values)
            setup = [fill_all(each, values) for each in statement.setup]
            env = _environment(statement, job, place, values)
            for each in statement.bindings:
                setting = job.settings.get(each.option)
                if setting is None or each.build:
                    continue
                if each.argument is not None:
                    command += option_arguments(each.argument, setting, values)
                setup += [fill_all(words, {**values, "": setting}) for words in each.setup]
            steps = [
                *_steps("`prepare`", [fill_all(each, values) for each in statement.prepare], statement.timeout),
                *_steps("`setup`", setup, statement.timeout),
                *_steps("the command", [command], statement.timeout, "failed", measured=True),
            ]
            order: dict[str, Any] = {
                "files": files,
                "steps": steps,
                "cleanup": _steps("`cleanup`", [fill_all(c, values) for c in statement.cleanup], statement.timeout),
                "output": None if statement.output is None else fill(statement.output, values),
                "env": env,
                "watched": None if self.sandbox.name == "bubblewrap" else place.work,
            }
            order.update(folders=[place.work], cwd=_cwd(place, statement))
            return perform(self.sandbox, tree, order, self.limits, self.locks, self.lost, building=False)


def _cwd(place: SandboxPlace, statement: SignedStatement) -> str:
    return str(PurePosixPath(place.tree) / statement.within)


def _of_build(statement: SignedStatement, job: CheckedJob) -> list[Any]:
    return [each for each in statement.bindings if each.build and each.option in job.settings]


def _build_values(statement: SignedStatement, job: CheckedJob) -> dict[str, str]:
    """The values that the build uses: others do not need another build, and a repetition never does."""
    arguments = [each.argument for each in statement.bindings if each.build and each.argument]
    named = names([*chain.from_iterable(statement.build), *arguments]) - {"repetition"}
    return {name: text for name, text in job.values.items() if name in named}


def _environment(
    statement: SignedStatement, job: CheckedJob, place: SandboxPlace, values: Mapping[str, str]
) -> dict[str, str]:
    known = {**values, **{f"env:{name}": text for name, text in place.env.items()}}
    own = {name: fill(template, known) for name, template in statement.env}
    bound = [each for each in statement.bindings if each.env and not each.build and each.option in job.settings]
    return {**place.env, **own, **{str(each.env): job.settings[each.option] for each in bound}}


def _steps(
    what: str, commands: Iterable[list[str]], timeout: float, failure: str = "not_started", *, measured: bool = False
) -> list[dict[str, Any]]:
    return [
        {"what": what, "argv": argv, "timeout": timeout, "failure": failure, "measured": measured} for argv in commands
    ]
