"""Packages as a third party would install them, from the blocks of the documentation."""

from __future__ import annotations

import os
import re
from pathlib import Path

from forked import Ended, Server

PAGES = Path(__file__).resolve().parents[2] / "docs" / "how-to"


def installed(folder: Path, page: str, group: str) -> Path:
    """The folder with the module of a page, and what pip would write of its entry points in a group."""
    text = (PAGES / page).read_text()
    [(name, source)] = re.findall(r'```python title="([^"]+)"\n(.*?)```', text, re.DOTALL)
    [points] = re.findall(rf'entry-points\."{re.escape(group)}"\]\n(.*?)```', text, re.DOTALL)
    (folder / name).write_text(source)
    write_entry_points(folder, group, points)
    return folder


def write_entry_points(folder: Path, group: str, points: str) -> None:
    """What pip writes of a package's entry points; ``points`` are lines of TOML or of that."""
    about = folder / "third_party-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n" + points.replace('"', ""))


class Hati:
    """Runs the program where a package is installed; ``server`` forks it."""

    def __init__(self, server: Server, results: Path) -> None:
        self._server, self._results = server, results

    def __call__(self, package: Path, project: Path, *words: str) -> Ended:
        """A command in the folder of a project."""
        paths = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH", "")]))
        own = {"PYTHONPATH": paths, "HATI_LOCK": str(project / "lock"), "COLUMNS": "100"}
        return self._server.run(words, project, {**os.environ, **own}, self._results)
