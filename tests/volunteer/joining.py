"""A client in a process of its own, and the server that it joins."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from volunteer_server import Script

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
        """Work once without a sandbox, or as the words say; return the exit status and what was printed."""
        process = self.start("--once", *words, home=home)
        out, err = process.communicate(timeout=60)
        assert not out
        assert "Traceback" not in err, err
        return process.returncode, err
