"""Options whose settings machines have, such as their compiler: nobody sets them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from worker_processes import Workers

from conftest import Hati
from hati.steering import Client
from hati.store import EntryKind, Selection, open_store, read_store

PROJECT = """
[[benchmark]]
name = "main"
command = ["PYTHON", "-S", "subject.py", "{a}", "{compiler}"]

[[benchmark.metric]]
name = "latency"
unit = "s"

[options.compiler]
settings = ["gcc", "clang", "icc"]
has = ["sh", "-c", "case $HATI_MACHINE in two) echo clang;; *) echo gcc;; esac"]

[options.a]
settings = [0, 1]
"""
SUBJECT = """
import json, sys
print(json.dumps({"metric": "latency", "value": 1.0 + int(sys.argv[1])}))
"""
BUILT = """
[[benchmark]]
name = "main"
build = ["sh", "build.sh"]
command = ["sh", "./built.sh"]

[[benchmark.metric]]
name = "latency"
unit = "s"

[options.compiler]
settings = ["gcc", "clang", "icc"]
has = ["sh", "-c", "case $HATI_MACHINE in two) echo clang;; *) echo gcc;; esac"]
argument = "CC={}"
build = true

[options.level]
settings = [0, 1]
argument = "-O{}"
build = true
"""
BUILD = """
echo "$HATI_MACHINE $*" >> LOG
cat > built.sh <<END
echo $HATI_MACHINE $*
echo '{"metric": "latency", "value": 1.0}'
END
"""
SETTINGS = {"compiler": ("gcc", "clang"), "level": (0, 1)}
WAIT_SECONDS = 60.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a compiler that machines have, and an option that is set."""
    (tmp_path / "hati.toml").write_text(PROJECT.replace("PYTHON", sys.executable))
    (tmp_path / "subject.py").write_text(SUBJECT)
    return tmp_path


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the store will be."""
    return tmp_path_factory.mktemp("shared") / "store.sqlite"


@pytest.fixture
def workers(project: Path, store: Path) -> Iterator[Workers]:
    """Workers on two machines, of which the campaign knows."""
    with closing(Workers(project, store)) as found:
        await_both(found, store)
        yield found


def await_both(workers: Workers, store: Path) -> None:
    """Start workers on two machines, and wait until both are known."""
    for name in ("one", "two"):
        workers.start(name)
    until = time.monotonic() + WAIT_SECONDS
    while known(store) < 2:
        assert time.monotonic() < until, "no worker came"
        time.sleep(0.05)


def known(store: Path) -> int:
    """The number of known machines."""
    with closing(open_store(str(store))) as found:
        return len(found.ledger.clients())


def test_tasks_go_to_machines_that_have_their_settings(hati_here: Hati, workers: Workers, store: Path) -> None:
    about = ("--store", str(store), "--engine", "workers")
    every = ("--set", "compiler=gcc", "--set", "compiler=clang")
    done = hati_here("run", *every, "--budget", "8", "--format", "json", *about)
    assert done.status == 0, done.err
    assert "left out: compiler=icc, which no known machine has" in done.err
    with closing(read_store(str(store))) as found:
        names = {fingerprint: each.name for each in found.machines() for fingerprint in each.fingerprints}
        where = {(run.task.configuration["compiler"], names[run.machine]) for run in found.runs(Selection())}
    assert where == {("gcc", "one"), ("clang", "two")}
    status = hati_here("grid", "status", "--store", str(store))
    assert "No known machine has compiler=icc, which studies leave out." in status.out
    status = hati_here("grid", "status", "--store", str(store), "--format", "json")
    assert {each["setting"]: each["machines"] for each in status.json["settings"]} == {
        "gcc": ["one"],
        "clang": ["two"],
        "icc": [],
    }


def test_a_build_is_made_for_each_setting_where_it_is(hati_here: Hati, project: Path, store: Path) -> None:
    log = store.parent / "builds.log"
    (project / "hati.toml").write_text(BUILT)
    (project / "build.sh").write_text(BUILD.replace("LOG", str(log)))
    every = [f"{name}={setting}" for name, settings in SETTINGS.items() for setting in settings]
    words = [word for each in every for word in ("--set", each)]
    with closing(Workers(project, store)) as found:
        await_both(found, store)
        done = hati_here("run", *words, "--budget", "8", "--store", str(store), "--engine", "workers")
    assert done.status == 0, done.err
    with closing(read_store(str(store))) as kept:
        runs = [(*run.task.configuration.values(), run.output.splitlines()[0]) for run in kept.runs(Selection())]
    machines = {"gcc": "one", "clang": "two"}
    made = {(cc, level): f"{machines[cc]} CC={cc} -O{level}" for cc in ("gcc", "clang") for level in (0, 1)}
    assert sorted(runs) == sorted(2 * [(*each, line) for each, line in made.items()])
    assert sorted(log.read_text().splitlines()) == sorted(made.values())


def test_repetitions_are_spread_over_known_classes(hati_here: Hati, workers: Workers, store: Path) -> None:
    about = ("run", "--store", str(store), "--engine", "workers", "--budget", "2")
    refused = hati_here(*about, "--classes", "2")
    assert (refused.status, "2 classes of machines are wanted, and 1 known: " in refused.err) == (2, True)
    assert hati_here(*about, "--classes", "all").status == 0
    with closing(read_store(str(store))) as found:
        [wanted] = {client.hardware for client in found.ledger.clients()}
        released = [each.content for each in found.ledger.history() if each.what is EntryKind.RELEASED]
    assert [each["requirements"]["attributes"] for each in released] == [[["class", wanted], ["compiler", "gcc"]]] * 2


def test_studies_are_planned_without_a_machine_that_is_forgotten(hati_here: Hati, project: Path, store: Path) -> None:
    with closing(open_store(str(store))) as found:
        for name, compiler in (("one", "gcc"), ("old", "icc")):
            found.ledger.record_client(Client(f"id-{name}", name, attributes=(("compiler", (compiler,)),)))
        found.ledger.enter("one-1", found.ledger.clients()[1])
    about = ("--store", str(store))
    planned = ("run", "--dry-run", "--engine", "workers", *about)
    assert "left out: compiler=clang, which no" in hati_here(*planned).err
    assert "machine 'one' has a worker" in hati_here("grid", "forget", "one", *about).err
    assert "did you mean 'old'?" in hati_here("grid", "forget", "odl", *about).err
    assert hati_here("grid", "forget", "old", *about).status == 0
    assert "left out: compiler=clang, compiler=icc, which no" in hati_here(*planned).err


def test_this_machine_runs_what_it_has(hati_here: Hati, project: Path) -> None:
    done = hati_here("run", "--budget", "2", "--format", "json")
    assert done.status == 0, done.err
    assert "left out: compiler=clang, compiler=icc, which this machine does not have" in done.err
    refused = hati_here("run", "--set", "compiler=clang")
    assert refused.status == 2
    assert "compiler" in refused.err


def test_a_setting_of_this_machine_that_no_option_has_is_an_error_with_its_place(
    hati_here: Hati, project: Path
) -> None:
    file = project / "hati.toml"
    file.write_text(file.read_text().replace('"gcc", "clang"', '"clang"'))
    refused = hati_here("run", "--dry-run")
    said = "hati.toml:12:7: this machine has compiler=gcc, not a setting of `compiler`: clang, icc"
    assert (refused.status, said in refused.err) == (2, True), refused.err
