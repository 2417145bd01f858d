"""The documentation is executed: every ``console`` block is typed, every titled block is a file."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from forked import Ended, Server

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(?P<language>\w+)(?P<rest>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LONG = {
    "any-language.md",
    "assert.md",
    "assume-of-others.md",
    "benchmark-here.md",
    "check.md",
    "configuration-faults.md",
    "document-performance.md",
    "find-failures.md",
    "first-screening.md",
    "infrastructure-experiments.md",
    "keep-improvements.md",
    "machines.md",
    "measure-a-server.md",
    "measure-python.md",
    "pytest.md",
    "recalibrate.md",
    "recommend.md",
    "run-an-experiment.md",
    "run-on-a-cluster.md",
    "share-a-campaign.md",
    "share-a-store.md",
    "study-a-table.md",
    "suite.md",
    "validate.md",
    "volunteers.md",
}
SERVED = {"share-a-store.md"}
"""Those that need a server of PostgreSQL, with an empty database."""
NEEDED = {
    "any-language.md": ("google_benchmark", "go"),
    "measure-a-server.md": ("postgresql",),
    "read-output.md": ("valgrind",),
}
"""The components, as fixtures, that those take."""
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def commands(body: str) -> list[tuple[str, str]]:
    """Each command of a ``console`` block with the output that the document shows for it."""
    found: list[tuple[str, str]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def run(command: str, folder: Path, server: Server, variables: Mapping[str, str]) -> str:
    """What a command prints, both streams together; the exit status is in the last line where it is not 0."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    state = {"XDG_STATE_HOME": str(folder.parent / f"{folder.name}-state"), "HATI_LOCK": str(folder.parent / "lock")}
    own = {"PATH": path, "COLUMNS": "80", "TERM": "dumb", **state}
    environment = {**os.environ, **own, **variables}
    words = shlex.split(command)
    if words[0] == "hati":
        ended = server.run(words[1:], folder, environment, folder.parent / f"{folder.name}-results")
    else:
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        ended = Ended(done.returncode, done.stdout, done.stderr)
    return ended.out + ended.err + (f"[exit status {ended.status}]\n" if ended.status else "")


def marks(document: Path) -> list[pytest.MarkDecorator]:
    long = [pytest.mark.acceptance] if document.name in LONG else []
    return [*long, pytest.mark.xdist_group("postgres")] if document.name in SERVED else long


@pytest.mark.parametrize(
    "document",
    [pytest.param(d, marks=marks(d)) for d in DOCUMENTS if "```console" in d.read_text()],
    ids=lambda d: str(d.relative_to(ROOT)),
)
def test_what_a_document_shows_is_what_happens(
    document: Path, tmp_path: Path, hati_server: Server, request: pytest.FixtureRequest
) -> None:
    variables = request.getfixturevalue("postgres").variables("hati") if document.name in SERVED else {}
    for component in NEEDED.get(document.name, ()):
        request.getfixturevalue(component)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    checker = doctest.OutputChecker()
    executed = 0
    for block in BLOCK.finditer(document.read_text()):
        title = TITLE.search(block["rest"])
        if title:
            file = tmp_path / title[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block["body"])
        if block["language"] == "console":
            for command, shown in commands(block["body"]):
                happened = run(command, tmp_path, hati_server, variables)
                assert not shown.strip() or checker.check_output(shown, happened, FLAGS), f"$ {command}\n{happened}"
                assert shown.strip() or "exit status" not in happened, f"$ {command}\n{happened}"
                executed += 1
    assert executed


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert str(page.relative_to(ROOT / "docs")) in navigation


def test_environment_variables_are_documented() -> None:
    sources = "".join(file.read_text() for file in (ROOT / "src" / "hati").rglob("*.py"))
    read = re.findall(r"""(?:environ\.get\(|envvar=|^[A-Z_]+ = )"(HATI_[A-Z_]+)""", sources, flags=re.MULTILINE)
    documented = (ROOT / "docs" / "reference" / "formats.md").read_text()
    assert {"HATI_LOCK", "HATI_MACHINE", "HATI_STORE"} <= set(read)
    assert [name for name in sorted(set(read)) if f"| `{name}` |" not in documented] == []


def test_links_between_pages_lead_somewhere() -> None:
    for document in DOCUMENTS:
        prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document}: {target}"
