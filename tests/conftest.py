"""What all tests share: the data folder, absent components, and the list of what was skipped."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from forked import Server, build_once, compile_once, quiet_machine
from postgres import PostgresServer, programs
from slurm import Slurm, missing

settings.register_profile("hati", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("hati")
build_once()
compile_once()
quiet_machine()

ROOT = Path(__file__).resolve().parent.parent

# Subjects call `python3`: the tests' own interpreter, not a version manager's script, which starts ten times as slowly.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

# The record of this machine: neither a user's own, nor one that tests leave behind.
_STATE = tempfile.TemporaryDirectory(prefix="hati-state-")
os.environ["XDG_STATE_HOME"] = _STATE.name
# Its lock: tests of one process do not wait for those of another, nor for a benchmark that runs on this machine.
os.environ["HATI_LOCK"] = str(Path(_STATE.name) / "lock")
os.environ.pop("HATI_MACHINE", None)
# Nor what the kernel says of the machine that tests run on: reports would differ from one to the next.
os.environ["HATI_SYSTEM_ROOT"] = str(Path(_STATE.name) / "system")

INSTALL = {
    "shared data": "set HATI_DATA to the folder with the measured data sets",
    "hyperfine": "apt-get install hyperfine",
    "PostgreSQL": "apt-get install postgresql",
    "subversion": "apt-get install subversion",
    "nginx and wrk": "apt-get install nginx-light wrk",
    "google-benchmark": "apt-get install g++ libbenchmark-dev",
    "valgrind": "apt-get install valgrind",
    "Slurm": "apt-get install slurm-wlm munge, and be root",
    "Go": "apt-get install golang-go",
    "actionlint": "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12",
}


# Modules and collected tests stay to the end: searched again and again for garbage they cost a tenth of the time.
gc.set_threshold(100_000, 50, 50)


def pytest_collection_finish() -> None:
    """Exclude what was collected from the search for garbage."""
    gc.collect()
    gc.freeze()


def absent(component: str) -> None:
    """Skip for want of a component."""
    pytest.skip(f"needs {component}: {INSTALL[component]}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under HATI_REQUIRE_ALL=1 a skip is a failure."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("HATI_REQUIRE_ALL") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped, and HATI_REQUIRE_ALL=1: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def hati_server() -> Iterator[Server]:
    """Runs the program without loading it each time."""
    with Server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server of PostgreSQL; tests that use it are of the group "postgres", so that there is one."""
    found = programs()
    if found is None:
        absent("PostgreSQL")
    assert found is not None
    with PostgresServer(found) as server:
        yield server


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the measured data sets: HATI_DATA, or ../shared/data beside the project."""
    folder = Path(os.environ.get("HATI_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        absent("shared data")
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a MiB."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)]
    try:
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("needs permission to mount a small file system: run the tests as root")
        yield small
    finally:
        subprocess.run(["umount", "-l", str(small)], capture_output=True, check=False)


@pytest.fixture(scope="session")
def hyperfine() -> str:
    """The path of hyperfine."""
    return _found("hyperfine")


@pytest.fixture(scope="session")
def actionlint() -> str:
    """The path of actionlint."""
    return _found("actionlint")


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        absent(program)
    assert path is not None
    return path


@pytest.fixture(scope="session")
def subversion() -> None:
    """The programs of Subversion are there."""
    if not shutil.which("svn") or not shutil.which("svnadmin"):
        absent("subversion")


@pytest.fixture(scope="session")
def postgresql() -> None:
    """The programs of PostgreSQL are where Debian has them."""
    if programs() is None or not shutil.which("setpriv"):
        absent("PostgreSQL")


@pytest.fixture(scope="session")
def nginx() -> None:
    """nginx and wrk are there."""
    if not shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") or not shutil.which("wrk"):
        absent("nginx and wrk")


@pytest.fixture(scope="session")
def google_benchmark() -> None:
    """A C++ compiler and google-benchmark are there."""
    if not shutil.which("g++") or not _preprocesses("#include <benchmark/benchmark.h>"):
        absent("google-benchmark")


def _preprocesses(source: str) -> bool:
    command = ["g++", "-std=c++17", "-E", "-x", "c++", "-"]
    return subprocess.run(command, input=source.encode(), capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="session")
def valgrind() -> None:
    """Valgrind is there."""
    if not shutil.which("valgrind"):
        absent("valgrind")


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    """Slurm with two nodes; tests that use it are of the group "dask", so that there is one."""
    if missing():
        absent("Slurm")
    with ExitStack() as stack:
        try:
            daemons = stack.enter_context(Slurm())
        except (AssertionError, OSError) as error:
            pytest.xfail(f"this machine does not let Slurm's daemons run: {error}")
        yield daemons


@pytest.fixture(scope="session")
def go() -> None:
    """Go is there."""
    if not shutil.which("go"):
        absent("Go")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what was skipped, each with the command that installs what it needs."""
    reasons = {
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    }
    if reasons:
        terminalreporter.section("skipped for want of a component")
        for reason in sorted(reasons):
            terminalreporter.line(reason)
