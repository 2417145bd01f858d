"""The example of SQLite on a cluster: two workers at a Dask scheduler under mutual TLS."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dask_cluster import HATI, HatiWorkers, Scheduler
from hati.store import EntryKind, Selection, SqlStore, read_store
from slurm import NODES, Slurm

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("dask")]

ROOT = Path(__file__).resolve().parents[2]
SCREEN = ("--metric", "latency", "--budget", "24", "--seed", "1", "--format", "json")


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    """A scheduler under TLS."""
    with Scheduler(tmp_path) as found:
        yield found


def example(folder: Path) -> Path:
    """A copy of the example in a folder."""
    shutil.copytree(ROOT / "examples" / "sqlite", folder, ignore=shutil.ignore_patterns(".hati"))
    return folder


def screened(project: Path, variables: dict[str, str], *words: str) -> dict[str, Any]:
    """The report of a screening."""
    command = [HATI, "screen", str(project), *SCREEN, *words]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def design_of(store: SqlStore) -> Counter[str]:
    """How often each configuration of the design was run."""
    return Counter(str(run.task.configuration) for run in store.runs(Selection()) if run.task.stage == "design")


@pytest.mark.alone
def test_a_cluster_screens_the_same_design_each_task_once(scheduler: Scheduler, tmp_path: Path) -> None:
    project = example(tmp_path / "campaign")
    alone = screened(project, {})
    with HatiWorkers(scheduler, tmp_path) as workers:
        started = [workers.start(project, name) for name in ("one", "two")]
        words = ("--engine", scheduler.address, "--store", str(workers.store))
        together = screened(project, scheduler.variables, *words)
        assert [workers.end(process) for process in started] == [0, 0]
        with closing(read_store(str(workers.store))) as kept:
            runs, design = kept.runs(Selection()), design_of(kept)
            accepted = [e.content["run"]["task"] for e in kept.ledger.history() if e.what is EntryKind.ACCEPTED]
    with closing(read_store(str(project / ".hati" / "store.sqlite"))) as local:
        assert design == design_of(local)
    assert together["design"] == alone["design"]
    # Of 13 such campaigns the estimate was -35 to -60 % in all, but important in 8: 24 runs are few for 14 options.
    [estimate] = [each["relative"] for each in together["effects"] if each["options"] == ["synchronous"]]
    assert estimate < -0.1
    assert sorted(accepted) == sorted(run.task.id for run in runs)
    assert max(Counter(accepted).values()) == 1
    assert sorted(each["name"] for each in together["measured_on"]) == ["one", "two"]
    assert sum(each["runs"] for each in together["machine_blocks"]["machines"]) == len(runs)


PROGRAM = """
import json, random, sys
settings = dict(word.split("=") for word in sys.argv[1:])
latency = 0.010 * (1.5 if settings["a"] == "on" else 1.0)
print(json.dumps({"metric": "latency", "value": latency * random.Random(str(sys.argv)).gauss(1, 0.005)}))
"""
PROJECT = """
[[benchmark]]
name = "main"
command = ["python3", "-S", "program.py", "run={repetition}"]

[[benchmark.metric]]
name = "latency"
unit = "s"
""" + "".join(f'\n[options.{name}]\nsettings = ["off", "on"]\nargument = "{name}={{}}"\n' for name in "abcd")


def test_slurm_starts_workers_by_the_script_of_the_page(scheduler: Scheduler, slurm: Slurm, tmp_path: Path) -> None:
    """Nodes are processes on this host, so they are named, and have locks of their own."""
    page = (ROOT / "docs" / "how-to" / "run-on-a-cluster.md").read_text()
    [script] = re.findall(r'```sh title="worker.sh"\n(.*?)```', page, flags=re.DOTALL)
    named = "export HATI_MACHINE=$SLURMD_NODENAME HATI_LOCK=$HATI_LOCKS-$SLURMD_NODENAME\n"
    file, project, store = slurm.folder / "worker.sh", tmp_path / "project", tmp_path / "store.sqlite"
    file.write_text(script.replace("set -e\n", f"set -e\n{named}"))
    project.mkdir()
    (project / "program.py").write_text(PROGRAM)
    (project / "hati.toml").write_text(PROJECT)
    variables = {**scheduler.variables, "PATH": f"{Path(HATI).parent}:{os.environ['PATH']}:/usr/sbin"}
    words = ("--array=1-2", f"--output={slurm.folder}/job-%a", str(file), str(project), str(store), scheduler.address)
    said = slurm.run("sbatch", *words, **variables, HATI_LOCKS=str(slurm.folder / "lock"))
    try:
        together = screened(project, scheduler.variables, "--engine", scheduler.address, "--store", str(store))
    finally:
        slurm.run("scancel", said.split()[-1])
    # Which node runs what is chance: removing their difference may make a an alias of an interaction.
    assert [*together["important"], *together["important_or_aliased"]] == ["a"]
    assert sorted(each["name"] for each in together["measured_on"]) == sorted(NODES)
    with closing(read_store(str(store))) as kept:
        runs = kept.runs(Selection())
        accepted = [e.content["run"]["task"] for e in kept.ledger.history() if e.what is EntryKind.ACCEPTED]
    assert sorted(accepted) == sorted(run.task.id for run in runs)
