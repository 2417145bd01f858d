"""Three clients and the real server on one host: a screening whose tasks each run once, by machines as blocks."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("hati.gateway")
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]

PROJECT = """
[subject]
name = "lent"

[options.level]
settings = [1, 2]

[options.cache]
settings = [false, true]
argument = "--cache"

[options.mode]
settings = ["a", "b"]
argument = "-m {}"

[[benchmark]]
name = "main"
command = ["python3", "-S", "subject.py", "{level}"]
reader = "hati"

[[benchmark.metric]]
name = "latency"
unit = "s"
"""
SUBJECT = """
import json, random, sys
level, cache = int(sys.argv[1]), "--cache" in sys.argv
values = [0.01 * level * (0.5 if cache else 1.0) * random.uniform(0.99, 1.01) for _ in range(3)]
print(json.dumps({"metric": "latency", "values": values}))
"""


def environment(folder: Path, lock: str) -> dict[str, str]:
    return {**os.environ, "HATI_LOCK": str(folder / f"{lock}.lock")}


def hati(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "hati", *words]
    own = environment(folder, "campaign")
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=folder, env=own, timeout=240)


@contextmanager
def serving(folder: Path, certificates: tuple[Path, Path]) -> Iterator[str]:
    words = ("--certificate", str(certificates[0]), "--key", str(certificates[1]), "--port", "0")
    argv = [sys.executable, "-m", "hati", "serve", "project", "--volunteers", "--invitation", "come-in-please", *words]
    argv += ["--store", str(folder / "store.sqlite")]
    process = subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment(folder, "server"))
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"https://\S+", line):
                yield found[0]
                break
    finally:
        process.terminate()
        process.communicate(timeout=30)


def client(folder: Path, url: str, ca: Path, name: str, *words: str) -> subprocess.Popen[str]:
    key = (folder / "owner.pub").read_text().strip()
    argv = [sys.executable, "-m", "hati", "join", url, "--ca", str(ca), "--name", name, "--home", str(folder / name)]
    argv += ["--invitation", "come-in-please", "--key", key, *words]
    return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment(folder, name))


def test_a_screening_by_three_volunteers(tmp_path: Path, certificates: tuple[Path, Path]) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "hati.toml").write_text(PROJECT)
    (project / "subject.py").write_text(SUBJECT)
    assert hati(tmp_path, "grid", "key", "--out", "owner").returncode == 0
    signed = hati(tmp_path, "grid", "sign", "project", "--key", "owner", "--store", str(tmp_path / "store.sqlite"))
    assert signed.returncode == 0, signed.stderr
    with serving(tmp_path, certificates) as url:
        clients = [client(tmp_path, url, certificates[0], name) for name in ("alpha", "beta", "gamma")]
        time.sleep(2.0)  # they have registered by then, mostly, and share the campaign
        words = ("--engine", "volunteers", "--store", str(tmp_path / "store.sqlite"), "--budget", "24")
        screened = hati(tmp_path, "screen", "project", *words)
        for each in clients:
            each.send_signal(signal.SIGTERM)
        said = [each.communicate(timeout=60)[1] for each in clients]
    assert screened.returncode == 0, screened.stderr
    made = [int(found[1]) for each in said if (found := re.search(r"(\d+) runs?, \1 delivered", each))]
    assert len(made) == 3, said
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as store:
        [(runs, tasks, machines)] = store.execute(
            "SELECT count(*), count(DISTINCT task), count(DISTINCT machine) FROM run"
        )
    assert runs == tasks == sum(made)
    assert machines == sum(each > 0 for each in made)
    assert re.search(r"[123] of 3 options matters? for latency", screened.stdout), (
        screened.stdout
    )  # at 5 % one too many


COMPILER = '[options.compiler]\nsettings = ["gcc", "clang"]\nargument = "{}"\nhas = "compiler"\n'


@pytest.mark.parametrize(
    ("compiler", "build"), [("", ""), ("build = true\n", 'build = ["sh", "build.sh"]\n')], ids=["run", "built"]
)
def test_a_volunteer_runs_what_it_has(
    tmp_path: Path, certificates: tuple[Path, Path], compiler: str, build: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    place = str(tmp_path / "store.sqlite")
    text = PROJECT.replace("[options.cache]", f"{COMPILER}{compiler}\n[options.cache]")
    (project / "hati.toml").write_text(text.replace("reader = ", f"{build}reader = "))
    (project / "subject.py").write_text(f"{SUBJECT}print(*sys.argv)\n")
    (project / "build.sh").write_text("echo \"print('built by $1')\" >> subject.py\n")
    assert hati(tmp_path, "grid", "key", "--out", "owner").returncode == 0
    signed = hati(tmp_path, "grid", "sign", "project", "--key", "owner", "--store", place)
    assert signed.returncode == 0, signed.stderr
    every = ("--set", "compiler=gcc", "--set", "compiler=clang")
    words = ("run", "project", *every, "--engine", "volunteers", "--store", place, "--budget", "4")
    nobody = hati(tmp_path, *words)
    assert (nobody.returncode, "no machine is known" in nobody.stderr) == (2, True)
    with serving(tmp_path, certificates) as url:
        has = {"alpha": "gcc", "beta": "clang"}
        clients = [client(tmp_path, url, certificates[0], name, "--has", f"compiler={has[name]}") for name in has]
        until = time.monotonic() + 60.0
        while _known(place) < 2 and time.monotonic() < until:
            time.sleep(0.1)
        measured = hati(tmp_path, *words)
        for each in clients:
            each.send_signal(signal.SIGTERM)
        said = [each.communicate(timeout=60)[1] for each in clients]
    assert measured.returncode == 0, measured.stderr
    assert all("2 runs, 2 delivered" in each for each in said), said
    with closing(sqlite3.connect(place)) as store:
        ran = store.execute(
            "SELECT json_extract(run.configuration, '$.compiler'), volunteer.name, run.output FROM run"
            " JOIN volunteer ON volunteer.fingerprint = run.machine ORDER BY 2"
        ).fetchall()
    assert [each[:2] for each in ran] == [("gcc", "alpha")] * 2 + [("clang", "beta")] * 2
    last = "built by {}" if build else "subject.py 1 {}"
    assert all(output.splitlines()[-1].startswith(last.format(setting)) for setting, _, output in ran), ran


def _known(place: str) -> int:
    """The number of machines that have asked for work."""
    with closing(sqlite3.connect(place)) as store:
        number: int = store.execute("SELECT count(*) FROM client").fetchone()[0]
        return number
