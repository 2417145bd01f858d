"""What volunteers may run: archives of a revision's files, and statements of benchmarks that their owner signs.

A statement has all commands of a benchmark and all values that may be put into them, so that a server without the
signing key cannot make a volunteer run anything else.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path, PurePath
from typing import Any, Final

from hati.core import Benchmark, InputError, Job, Setting, canonical_json, digest, setting_text
from hati.core.benchmark import counted, is_tool, names
from hati.subject.revisions.trees import Trees
from hati.subject.running.recipe import PORT_MARKER, WORK_MARKER, remote_recipe

FORMAT: Final = "hati-release-1"
ENVIRONMENT: Final = frozenset({"PATH", "HOME", "TMPDIR", "LANG"})
"""The variables that ``{env:NAME}`` may name: a volunteer's own environment stays private."""
_NO_COUNTERS = "it counts events of the kernel, which needs permissions"


def unfit_for_volunteers(benchmark: Benchmark) -> str:
    """Why volunteers cannot run a benchmark, in words; empty where they can."""
    reasons = {
        "it has a server": benchmark.server is not None,
        "it runs as another user": benchmark.user is not None,
        "it resets the system": benchmark.reset is not None,
        _NO_COUNTERS: benchmark.counters is not None or bool(counted([each.name for each in benchmark.metrics])),
        "its command is pinned to CPUs": bool(benchmark.cpus),
        "an option reloads a server": any(binding.reload for binding in benchmark.bindings),
        "it uses a program of this machine": bool(benchmark.programs),
        "each revision has its own template of a file": any(file.inside for file in benchmark.files),
        "it reads a variable of the environment": bool(_variables(benchmark) - ENVIRONMENT),
        f"its output is of the tool {benchmark.reader.kind}": is_tool(benchmark.reader.kind),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _variables(benchmark: Benchmark) -> frozenset[str]:
    found = chain.from_iterable(names(template) for _, template in benchmark.env)
    return frozenset(each.name.removeprefix("env:") for each in found if each.name.startswith("env:"))


def check_for_volunteers(benchmark: Benchmark) -> None:
    """Check that volunteers can run a benchmark.

    Raises:
        InputError: where they cannot.
    """
    if why := unfit_for_volunteers(benchmark):
        raise InputError(
            f"volunteers cannot run benchmark {benchmark.name!r}: {why}",
            fix="use --engine workers on machines of your own",
        )


def release_key(benchmark: Benchmark, sources: str) -> str:
    """The key of the release of a benchmark's definition and the files with the digest ``sources``."""
    return _release_key(_Same(benchmark), sources)


class _Same:
    """A benchmark, equal to itself only: equal ones may have different definitions, as 1 equals 1.0."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark = benchmark

    def __hash__(self) -> int:
        return id(self.benchmark)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.benchmark is other.benchmark


@lru_cache(maxsize=64)
def _release_key(same: _Same, sources: str) -> str:
    return digest([same.benchmark.definition, sources], 64)


def statement_of(
    benchmark: Benchmark,
    settings: Mapping[str, tuple[Setting, ...]],
    revision: str,
    artefact: str,
    within: PurePath,
) -> str:
    """The statement to sign: canonical JSON of a benchmark's commands, and of the values that they may be given.

    Args:
        benchmark: one that volunteers can run.
        settings: all settings of the options.
        revision: the id of the revision.
        artefact: the SHA-256 of the archive of its files.
        within: the project's folder among them.
    """
    parameters = {name: [setting_text(setting)] for name, setting in benchmark.workload.items()}
    return canonical_json(
        {
            "format": FORMAT,
            "benchmark": benchmark.name,
            "build": benchmark.build,
            "prepare": benchmark.prepare,
            "setup": benchmark.setup,
            "command": benchmark.command,
            "cleanup": benchmark.cleanup,
            "env": benchmark.env,
            "bindings": [
                {
                    "option": each.option,
                    "argument": each.argument,
                    "env": each.env,
                    "build": each.build,
                    "setup": each.setup,
                }
                for each in benchmark.bindings
            ],
            "files": [file.path for file in benchmark.files],
            "output": benchmark.output,
            "timeout": benchmark.timeout,
            "artefact": artefact,
            "within": within.as_posix(),
            "settings": {name: list(map(setting_text, known)) for name, known in settings.items()},
            "values": {**parameters, "revision": [revision]},
        }
    )


def unsigned_value(job: Job, statement: str) -> str:
    """The first value of a job that its signed statement does not allow, as ``name=value``; empty without any."""
    settings, values = _signed_values(statement)
    for allowed, given in ((settings, _settings(job)), (values, _values(job))):
        for name, text in given.items():
            if name != "repetition" and text not in allowed.get(name, ()):
                return f"{name}={text}"
    return ""


@lru_cache(maxsize=64)
def _signed_values(statement: str) -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]:
    """The settings and the other values that a statement allows."""
    said = json.loads(statement)
    return said["settings"], said["values"]


def job_content(job: Job) -> dict[str, Any]:
    """A job as volunteers get it: values for the signed templates, and the rendered files.

    Raises:
        InputError: where a file cannot be rendered.
    """
    return {
        "task": job.task.id,
        "settings": _settings(job),
        "values": _values(job),
        "files": list(_files(job)),
    }


def _settings(job: Job) -> dict[str, str]:
    return {name: setting_text(setting) for name, setting in job.task.configuration.items()}


def _values(job: Job) -> dict[str, str]:
    texts = {name: setting_text(setting) for name, setting in job.task.workload.items()}
    return {**texts, "revision": job.task.revision, "repetition": str(job.task.repetition)}


def _files(job: Job) -> Iterator[dict[str, str]]:
    for file in job.benchmark.files:
        from hati.subject.templates import render  # loads Jinja2, which most benchmarks do not need

        variables = {**remote_recipe(job).variables, "work": WORK_MARKER, "port": PORT_MARKER}
        yield {"path": file.path, "text": render(file, variables)}


def archive(trees: Trees, revision: str) -> tuple[bytes, PurePath]:
    """The files of a revision as a gzip-compressed tar archive, equal for equal files; and the project's folder in it.

    Raises:
        RunFailure: where the files are not available.
        InputError: where a file is neither a regular file, a folder nor a relative link inside of the archive.
        OSError: where the files cannot be copied.
    """
    with tempfile.TemporaryDirectory(prefix="hati-archive-") as place:
        tree = trees.copy(revision, Path(place) / "files")
        target = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=target, mode="wb", mtime=0, filename="") as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            for path in sorted(tree.top.rglob("*")):
                _add(tar, path, tree.top)
    return target.getvalue(), tree.within


def _add(tar: tarfile.TarFile, path: Path, top: Path) -> None:
    name = path.relative_to(top).as_posix()
    member = tar.gettarinfo(path, name)
    if not (member.isreg() or member.isdir() or member.issym()):
        raise InputError(f"{name} is neither a file, a folder nor a link", fix="exclude it by [subject] sources")
    if member.issym() and not _inside(path, top):
        raise InputError(
            f"the link {name} points outside of the project: {member.linkname}",
            fix="make it relative, or exclude it by [subject] sources",
        )
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    if member.isreg():
        member.type = tarfile.REGTYPE  # never a hard link: each file stands alone
        with path.open("rb") as content:
            member.size = path.stat().st_size
            tar.addfile(member, content)
    else:
        tar.addfile(member)


def _inside(link: Path, top: Path) -> bool:
    target = link.readlink()
    return not target.is_absolute() and (link.parent / target).resolve().is_relative_to(top.resolve())
