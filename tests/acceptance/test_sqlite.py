"""The example that `make demo` runs: SQLite's options, for real."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.acceptance, pytest.mark.alone]
ROOT = Path(__file__).resolve().parents[2]
HATI = str(Path(sys.executable).with_name("hati"))


def test_the_demo_finds_the_options_that_decide(tmp_path: Path) -> None:
    project = tmp_path / "sqlite"
    shutil.copytree(ROOT / "examples" / "sqlite", project, ignore=shutil.ignore_patterns(".hati"))
    command = [HATI, "screen", str(project), "--metric", "latency", "--budget", "96", "--seed", "1"]
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["space"] == {"options": 14, "configurations": 16384}
    assert told["design"]["configurations"] > 64
    assert told["design"]["resolution"] is None
    assert told["runs"]["failed"] == 0
    assert told["design"]["runs"] <= told["runs"]["done"] <= 96
    assert "synchronous" in told["important"]
    effects = {tuple(effect["options"]): effect for effect in told["effects"]}
    assert effects["synchronous",]["estimate"] < 0
    # How much journal_mode matters is the disk's: with -13 % it is not found among runs that vary by half.
    assert effects["journal_mode",]["estimate"] < 0 or "journal_mode" not in told["important"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "synchronous=OFF" in shown.stdout
    report = Path(next(line for line in shown.stderr.splitlines() if line.startswith("report: "))[8:])
    page = report.read_text()
    assert page.count("<svg") >= 5
    assert 'src="http' not in page


def test_a_time_budget_on_the_demo(tmp_path: Path) -> None:
    project = tmp_path / "sqlite"
    shutil.copytree(ROOT / "examples" / "sqlite", project, ignore=shutil.ignore_patterns(".hati"))
    command = [HATI, "screen", str(project), "--metric", "throughput", "--budget", "30s", "--format", "json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert told["runs"]["failed"] == 0
    assert "synchronous" in told["important"]
    assert next(e for e in told["effects"] if e["options"] == ["synchronous"])["relative"] > 0
