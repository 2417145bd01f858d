"""The examples with real servers: PostgreSQL and nginx, without a wrapper script."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from examples.brute_force import combinations
from examples.flips import measure

from hati.cli import main
from hati.core import Budget

pytestmark = pytest.mark.acceptance
Capture = pytest.CaptureFixture[str]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A copy of an example, in which nothing else is measured."""
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))

    def copied(name: str) -> Path:
        return Path(shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns(".hati", "*.csv")))

    return copied


def only(project: Path, *options: str) -> None:
    """Leave these options of a project, and the others at their defaults."""
    whole = (project / "hati.toml").read_text()
    head, *tables = whole.split("\n[options.")
    kept = [table for table in tables if table.partition("]")[0] in options]
    assert len(kept) == len(options)
    (project / "hati.toml").write_text("\n[options.".join([head, *kept]))
    for template in project.glob("*.conf.j2"):
        text = template.read_text()
        for table in tables:
            name, _, rest = table.partition("]")
            if name not in options:
                default = rest.partition("settings = [")[2].partition(",")[0].strip('"')
                text = text.replace(f"{{{{ {name} }}}}", default).replace(f'{name} == "on"', "false")
        template.write_text(text)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def no_server(name: str, project: Path) -> bool:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return not any(name in line and str(project) in line for line in listed.splitlines())


@pytest.mark.usefixtures("postgresql")
class TestPostgresql:
    def test_runs_share_a_server(self, example: Callable[[str], Path], capfd: Capture) -> None:
        project = example("postgresql")
        chosen = ["fsync=on,jit=off", "fsync=off,synchronous_commit=off,jit=off", "fsync=on,jit=on"]
        words = [word for each in chosen for word in ("--set", each)]
        assert main(["run", str(project), *words, "--budget", "3", "--format", "json"]) == 0, capfd.readouterr().err
        means = [each["mean"] for each in json.loads(capfd.readouterr().out)["summaries"]]
        assert len(means) == 3
        assert min(means) > 0
        assert means[2] < means[1] / 2, "with jit on every statement is compiled"
        assert len(list((project / ".hati/logs").iterdir())) == 1
        assert no_server("postgres", project)

    def test_a_setting_that_it_refuses_is_left_out_with_its_reason(
        self, example: Callable[[str], Path], capfd: Capture
    ) -> None:
        project = example("postgresql")
        only(project, "wal_level", "work_mem", "log_statement")
        text = (project / "hati.toml").read_text().replace('["replica", "minimal"]', '["replica", "none"]')
        (project / "hati.toml").write_text(text.replace("seconds = 2", "seconds = 1"))
        assert main(["screen", str(project), "--budget", "14", "--format", "json"]) == 0, capfd.readouterr().err
        found = json.loads(capfd.readouterr().out)
        (excluded,) = found["losses"]["excluded"]
        assert excluded["settings"] == "wal_level=none"
        assert 'invalid value for parameter "wal_level": "none"' in excluded["message"]

    def test_brute_force(self, example: Callable[[str], Path]) -> None:
        project = example("postgresql")
        (project / "hati.toml").write_text((project / "hati.toml").read_text().replace("seconds = 2", "seconds = 1"))
        combinations(project, ["fsync", "synchronous_commit"], 2, None, 1, None)
        found = rows(project / "brute-force.csv")
        assert [(row["fsync"], row["synchronous_commit"], row["runs"]) for row in found] == [
            (one, other, "2") for one in ("on", "off") for other in ("on", "off")
        ]


@pytest.mark.alone
@pytest.mark.usefixtures("nginx")
class TestNginx:
    def test_a_method_that_this_build_lacks_is_left_out(self, example: Callable[[str], Path], capfd: Capture) -> None:
        project = example("nginx")
        only(project, "gzip", "access_log", "worker_processes")
        conf = project / "nginx.conf.j2"
        conf.write_text(conf.read_text().replace("events {", "events {\n  use {{ event }};"))
        with (project / "hati.toml").open("a") as stream:
            stream.write('\n[options.event]\nsettings = ["epoll", "nosuch"]\n')
        assert main(["screen", str(project), "--budget", "24", "--format", "json"]) == 0, capfd.readouterr().err
        found = json.loads(capfd.readouterr().out)
        (excluded,) = found["losses"]["excluded"]
        assert excluded["settings"] == "event=nosuch"
        assert 'invalid event type "nosuch"' in excluded["message"]
        assert len(found["failures"]) == 1
        gzip = next(effect for effect in found["effects"] if effect["options"] == ["gzip"])
        assert gzip["estimate"] < 0
        assert no_server("nginx", project)

    def test_flips(self, example: Callable[[str], Path]) -> None:
        project = example("nginx")
        only(project, "gzip", "etag")
        measure(project, None, 16, 1, Budget(runs=8), None)
        changes = measure(project, None, 16, 1, Budget(runs=40), None)
        assert [(row["option"], row["from"], row["to"]) for row in rows(project / "flips.csv")] == [
            ("gzip", "off", "on"),
            ("etag", "on", "off"),
        ]
        assert sum(2 * change.flips for change in changes) <= 48
        gzip = changes[0]
        assert gzip.half_width is not None
        assert gzip.mean < 0
