"""A client in a process of its own, and the server that it joins."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

import pytest
from volunteer_server import Script

from hati.volunteer.command import main

SOURCES = Path(__file__).resolve().parents[2] / "src"
START = "import sys; from hati.volunteer.command import main; sys.exit(main())"


@dataclass
class Joining:
    """A server, its script, and clients that join it."""

    url: str
    script: Script
    ca: Path
    folder: Path

    def start(self, *words: str, home: str = "home", lock: str = "lock") -> subprocess.Popen[str]:
        environment = {**os.environ, "HATI_LOCK": str(self.folder / lock), "PYTHONPATH": str(SOURCES)}
        argv = [sys.executable, "-c", START, self.url, "--ca", str(self.ca), "--home", str(self.folder / home), *words]
        return subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=self.folder
        )

    def join(self, *words: str, home: str = "home") -> tuple[int, str]:
        """Work once, in this process; return the exit status and what was said."""
        said = io.StringIO()
        with redirect_stderr(said), pytest.MonkeyPatch.context() as patch:
            patch.setenv("HATI_LOCK", str(self.folder / "lock"))
            status = main([self.url, "--ca", str(self.ca), "--home", str(self.folder / home), "--once", *words])
        return status, said.getvalue()
