"""Services of continuous integration, as far as pipelines need them: steps in order, and what the service provides."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from gate_projects import git

PYTHON = """#!/bin/sh
if [ "$1 $2 $3" = "-m pip install" ]; then echo "$4" >> "$INSTALLED"; exit; fi
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; exit; fi
exit 9
"""
"""Installs nothing: no registry has what is under test."""


class Strict(yaml.SafeLoader):
    """``on`` is a name, not a truth."""


Strict.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:bool"]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def parsed(text: str) -> Any:
    return yaml.load(text, Strict)


@dataclass
class Machine:
    """Where scripts run: the folder of the repository, with programs on its path before all others."""

    folder: Path
    programs: Path

    @classmethod
    def beside(cls, place: Path) -> Machine:
        machine = cls(place / "workspace", place / "programs")
        machine.programs.mkdir(exist_ok=True)
        for name in ("python", "python3"):
            machine.add(name, PYTHON)
        # Benchmarks start sh; what is under test comes before an installed one.
        (machine.programs / "hati").symlink_to(Path(sys.executable).with_name("hati"))
        return machine

    def add(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    @property
    def installed(self) -> list[str]:
        file = self.programs / "installed"
        return file.read_text().splitlines() if file.exists() else []

    def run(
        self, script: str, environment: Mapping[str, str], shell: tuple[str, ...] = ("bash", "-e")
    ) -> subprocess.CompletedProcess[str]:
        own = {
            **os.environ,
            "HATI_LOCK": str(self.programs / "lock"),
            "INSTALLED": str(self.programs / "installed"),
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            **environment,
        }
        own.pop("HATI_STORE", None)
        return subprocess.run(
            [*shell, "-c", script], cwd=self.folder, env=own, capture_output=True, text=True, check=False
        )


class Context(dict[str, Any]):
    """A GitHub context: what is missing is empty."""

    def __getattr__(self, name: str) -> Any:
        found = self.get(name, Context())
        return Context(found) if type(found) is dict else found

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) if isinstance(other, dict) else not self and other == ""

    __hash__ = None  # type: ignore[assignment]  # mutable, as every dict

    def __str__(self) -> str:
        return ""


@dataclass
class GitHub:
    """Runs the only job of a workflow."""

    origin: Path
    machine: Machine
    cache: dict[str, Path] = field(default_factory=dict)
    artifacts: dict[str, Path] = field(default_factory=dict)
    runs: int = 0
    output: list[str] = field(default_factory=list)

    def run(self, workflow: dict[str, Any], github: dict[str, Any], environment: Mapping[str, str]) -> str:
        """``success``, ``failure`` or ``skipped``."""
        self.runs += 1
        self.output.clear()
        shutil.rmtree(self.machine.folder, ignore_errors=True)
        self.machine.folder.mkdir()
        self._github = Context(github | {"workflow": workflow["name"], "run_id": self.runs, "run_attempt": 1})
        [job] = workflow["jobs"].values()
        if "if" in job and not self._value(job["if"]):
            return "skipped"
        self.failed = False
        for step in job["steps"]:
            if self._wanted(step) and not self._do(step, {**workflow.get("env", {}), **environment}):
                self.failed = self.failed or not step.get("continue-on-error", False)
        return "failure" if self.failed else "success"

    def _wanted(self, step: dict[str, Any]) -> bool:
        condition = step.get("if", "true")
        return bool(self._value(condition)) and ("cancelled()" in condition or not self.failed)

    def _do(self, step: dict[str, Any], environment: Mapping[str, str]) -> bool:
        if "run" in step:
            own = {name: self._filled(value) for name, value in {**environment, **step.get("env", {})}.items()}
            done = self.machine.run(step["run"], own)
            self.output.append(done.stdout + done.stderr)
            return done.returncode == 0
        given = {name: self._filled(value) for name, value in step.get("with", {}).items()}
        action = step["uses"].rpartition("@")[0].removeprefix("actions/")
        return bool(getattr(self, "_" + re.sub(r"\W", "_", action))(given))

    def _value(self, expression: str) -> Any:
        text = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", expression.strip())
        text = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or ")).strip()
        known = {
            "github": self._github,
            "true": True,
            "cancelled": lambda: False,
            "hashFiles": lambda name: "".join(str(file) for file in self.machine.folder.glob(name)),
        }
        return eval(text, {"__builtins__": {}}, known)

    def _filled(self, value: object) -> str:
        return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(self._value(found[1])), str(value))

    def _checkout(self, given: dict[str, str]) -> bool:
        assert given["fetch-depth"] == "0"
        git(self.machine.folder.parent, "clone", "--quiet", str(self.origin), str(self.machine.folder))
        git(self.machine.folder, "checkout", "--quiet", "--detach", given["ref"])
        return True

    def _setup_python(self, given: dict[str, str]) -> bool:
        return bool(given["python-version"])

    def _cache_restore(self, given: dict[str, str]) -> bool:
        keys = [key for key in self.cache if key.startswith(given["restore-keys"])]
        if keys:
            place = self.machine.folder / given["path"]
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.cache[keys[-1]], place)
        return True

    def _cache_save(self, given: dict[str, str]) -> bool:
        kept = self.machine.programs / f"cache-{self.runs}"
        shutil.copy(self.machine.folder / given["path"], kept)
        assert given["key"] not in self.cache
        self.cache[given["key"]] = kept
        return True

    def _upload_artifact(self, given: dict[str, str]) -> bool:
        kept = self.machine.programs / f"artifact-{self.runs}"
        shutil.copy(self.machine.folder / given["path"], kept)
        self.artifacts[given["name"]] = kept
        return True

    def _download_artifact(self, given: dict[str, str]) -> bool:
        assert given["run-id"]
        assert given["github-token"] == "t"
        if given["name"] not in self.artifacts:
            return False
        shutil.copy(self.artifacts[given["name"]], self.machine.folder / "hati.md")
        return True


def gitlab_job(pipeline: dict[str, Any], name: str) -> dict[str, Any]:
    """A job with what it extends, merged as GitLab merges: tables key by key, everything else as a whole."""

    def merged(below: Any, above: Any) -> Any:
        if not (isinstance(below, dict) and isinstance(above, dict)):
            return above
        return below | {key: merged(below.get(key), value) for key, value in above.items()}

    job = pipeline[name]
    return merged(pipeline[job["extends"]], job) if "extends" in job else job


def groovy_text(literal: str) -> str:
    """The value of a string of Groovy, without its quotes."""
    return re.sub(r"\\(.)", r"\1", literal)


def jenkins_steps(jenkinsfile: str) -> Iterator[tuple[str, str]]:
    """The steps of the stage in order: ``sh`` with a script, ``copyArtifacts`` with the filter."""
    steps = jenkinsfile[jenkinsfile.index("steps {") : jenkinsfile.index("post {")]
    for found in re.finditer(r"sh '''(.*?)(?<!\\)'''|copyArtifacts\(.*?filter: '((?:\\.|[^'])*)'", steps, re.DOTALL):
        yield ("sh", groovy_text(found[1])) if found[1] is not None else ("copyArtifacts", groovy_text(found[2]))
