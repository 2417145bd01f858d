"""examples/journal, for real: its planted configuration faults are found, characterised, and left out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.acceptance
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_planted_faults_are_found_and_left_out(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HATI_LOCK": str(tmp_path / "lock")}
    done = subprocess.run(
        [sys.executable, "-m", "examples.journal.scenarios", "2"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  yes  ") == 4
    assert "NO " not in done.stdout


@pytest.mark.skipif(shutil.which("gcov") is None, reason="needs gcov")
def test_configurations_add_lines(tmp_path: Path) -> None:
    place = tmp_path / "journal"
    shutil.copytree(ROOT / "examples" / "journal", place, ignore=shutil.ignore_patterns(".hati"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HATI_LOCK": str(tmp_path / "lock")}

    def hati(*words: str) -> str:
        argv = [sys.executable, "-m", "hati", *words]
        return subprocess.run(argv, cwd=place, env=environment, capture_output=True, text=True, check=True).stdout

    hati("run", "coverage.toml", "--set", "compress=none", "--set", "compress=rle", "--budget", "2")
    found = json.loads(hati("coverage", "coverage.toml", "--format", "json"))
    assert (found["runs"], found["configurations"]) == (2, 2)
    assert found["adding"][0]["configuration"]["compress"] == "rle"
    (journal,) = found["files"]
    assert journal["file"] == "journal.c"
    assert 0 < journal["executed"] < journal["lines"]
