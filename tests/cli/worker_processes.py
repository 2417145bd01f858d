"""Processes of `hati worker`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from conftest import HATI


class Workers:
    """Worker processes, each with a copy of a project; a context manager that ends them."""

    def __init__(self, project: Path, store: Path) -> None:
        self._project, self._store = project, store
        self._started: list[subprocess.Popen[str]] = []

    def start(self, name: str, *words: str) -> subprocess.Popen[str]:
        """Start one on a machine of that name."""
        copy = self._store.parent / name
        shutil.copytree(self._project, copy, ignore=shutil.ignore_patterns(".hati"))
        lock = str(self._store.parent / f"lock-{name}")
        environment = {**os.environ, "HATI_MACHINE": name, "HATI_LOCK": lock}
        command = [HATI, "worker", str(copy), "--store", str(self._store), *words]
        self._started.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        return self._started[-1]

    def close(self) -> None:
        """End all."""
        for process in self._started:
            process.kill()
            process.communicate()
