"""Pipelines of continuous integration that check every change, and the requirement that installs this Hati."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from importlib import resources
from importlib.metadata import Distribution, distribution
from pathlib import PurePath
from typing import Any

from msgspec import Struct

NAME = "hati"

_URL = re.compile(r"[a-z0-9+.-]+://[A-Za-z0-9._~:/@!%+=?&,-]+")
_REACHABLE = ("https://", "http://", "ssh://", "git://")


class InstalledHati(Struct, frozen=True):
    """The pinned requirement of an installation; empty if other machines cannot install it, with the ``reason``."""

    requirement: str
    reason: str = ""

    def __post_init__(self) -> None:
        if bool(self.requirement) == bool(self.reason):
            raise ValueError("either a requirement, or the reason why there is none")


def installed_hati(of: Distribution | None = None) -> InstalledHati:
    """Return the pinned requirement of the running Hati: a release, the URL of an archive, or a git revision.

    Source: https://packaging.python.org/en/latest/specifications/direct-url/ (PEP 610); a release has no such record.
    """
    found = distribution(NAME) if of is None else of
    record = found.read_text("direct_url.json")
    if record is None:
        return InstalledHati(f"{NAME}=={found.version}")
    return _of_url(json.loads(record))


def _of_url(record: Mapping[str, Any]) -> InstalledHati:
    url = str(record["url"])
    if "dir_info" in record:
        return InstalledHati("", "it is installed from a folder")
    if not url.startswith(_REACHABLE) or not _URL.fullmatch(url):
        return InstalledHati("", f"it is installed from {url}")
    fragment = [f"subdirectory={record['subdirectory']}"] if record.get("subdirectory") else []
    if "vcs_info" in record:
        url = f"{record['vcs_info']['vcs']}+{url}@{record['vcs_info']['commit_id']}"
    else:
        fragment += _hash(record["archive_info"])
    return InstalledHati(f"{NAME} @ {url}" + ("#" + "&".join(fragment) if fragment else ""))


def _hash(archive: Mapping[str, Any]) -> list[str]:
    """The archive's SHA-256 as a fragment of its URL, if it was recorded."""
    known = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").partition("sha256=")[2]
    return [f"sha256={known}"] if known else []


_OWN = ".hati"
_STORE = "store.sqlite"
_PINNED = "the Hati that wrote this file; change it to upgrade"
_MISSING = "FILL IN the Hati to install: a release (hati==VERSION), a wheel (hati @ https://...) or a git revision"


class PipelineService(StrEnum):
    """The service that runs the pipeline."""

    GITHUB = "github"
    GITLAB = "gitlab"
    JENKINS = "jenkins"


class CheckedProject(Struct, frozen=True):
    """The project that a pipeline checks.

    ``within`` is its folder in the repository, ``branch`` the main branch, ``mark`` the first line of its comments.
    ``packages`` are those of the operating system that its benchmarks need.
    """

    within: PurePath
    branch: str
    mark: str
    installed: InstalledHati
    packages: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its jobs and workflows."""
        return "-".join(("hati", *self.within.parts))

    @property
    def option(self) -> str:
        """The option of `hati check` that names its folder; empty at the top of the repository."""
        return "" if self.within == PurePath() else f" --project {shlex.quote(self.within.as_posix())}"


class PipelineFile(Struct, frozen=True):
    """A file, by its path in the repository, and its text."""

    path: PurePath
    text: str


def write_pipeline(service: PipelineService, project: CheckedProject) -> tuple[PipelineFile, ...]:
    """Return the files of the pipeline that checks every change of a project."""
    return _PIPELINES[service](project)


def _github(project: CheckedProject) -> tuple[PipelineFile, ...]:
    folder = PurePath(".github/workflows")
    return (
        PipelineFile(folder / f"{project.name}.yml", _filled("github.yml", project, _yaml)),
        PipelineFile(folder / f"{project.name}-comment.yml", _filled("github-comment.yml", project, _yaml)),
    )


def _single(path: str, template: str, quoted: Callable[[str], str], project: CheckedProject) -> tuple[PipelineFile]:
    return (PipelineFile(PurePath(path), _filled(template, project, quoted)),)


def _filled(template: str, project: CheckedProject, quoted: Callable[[str], str]) -> str:
    """A template's text with its placeholders filled: ``@project@`` and ``@own@`` in scripts, all others in quotes."""
    own = project.within / _OWN
    texts: Mapping[str, str] = {
        "@name@": quoted(project.name),
        "@comment@": quoted(f"{project.name}-comment"),
        "@job@": quoted(f".{project.name}"),
        "@main-job@": quoted(f"{project.name}-main"),
        "@branch@": quoted(project.branch),
        "@requirement@": quoted(project.installed.requirement),
        "@store@": quoted(str(own / _STORE)),
        "@report-and-store@": quoted(f"hati.md, {own / _STORE}"),
        "@mark@": quoted(project.mark),
        "@pin@": _PINNED if project.installed.requirement else _MISSING,
        "@project@": _in_script(project.option, quoted),
        "@packages@": " ".join(project.packages),
        "@own@": _in_script(shlex.quote(own.as_posix()), quoted),
    }
    text = resources.files("hati.project").joinpath("pipeline_files", template).read_text(encoding="utf-8")
    if not project.packages:
        text = re.sub(r".*@packages@.*\n", "", text)
    for place, value in texts.items():
        text = text.replace(place, value)
    return text


def _yaml(text: str) -> str:
    """A text in single quotes: https://yaml.org/spec/1.2.2/#732-single-quoted-style."""
    return "'" + text.replace("'", "''") + "'"


def _groovy(text: str) -> str:
    """A text in single quotes: https://groovy-lang.org/syntax.html#_single_quoted_string."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _in_script(text: str, quoted: Callable[[str], str]) -> str:
    """A part of a script: unchanged in a block of YAML, escaped in a string of Groovy."""
    return quoted(text)[1:-1] if quoted is _groovy else text


_PIPELINES: Mapping[PipelineService, Callable[[CheckedProject], tuple[PipelineFile, ...]]] = {
    PipelineService.GITHUB: _github,
    PipelineService.GITLAB: partial(_single, ".gitlab-ci.yml", "gitlab.yml", _yaml),
    PipelineService.JENKINS: partial(_single, "Jenkinsfile", "Jenkinsfile", _groovy),
}
