"""``hati probe run`` from outside: what it shows, writes and keeps."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from hati.cli import main
from hati.generate import FLAGS, Calibration, DemandCheck, Kernel, KernelCalibration
from hati.generate.observations import calibration_table
from hati.wiring.probes import task_sets
from hati.wiring.probes.task_sets import write_calibration

if TYPE_CHECKING:
    from conftest import Hati

MODEL = """\
name: Work  # a comment stays
machines: [here]
roles:
  - name: only
    machine: here
    task:
      do: loop
      count: 5
      task: {do: cpu, kernel: sort, demand_ms: 0.1, name: work, sensors: [cpu, response]}
"""


@pytest.fixture(autouse=True)
def _quickly_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without optimisation: what a unit of work takes is not tested here."""
    monkeypatch.setattr("hati.driver.compiling.FLAGS", tuple(flag for flag in FLAGS if not flag.startswith("-O")))


def test_an_experiment_is_shown_written_and_kept(hati_here: Hati, tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(MODEL)
    write_calibration(Calibration((KernelCalibration(Kernel.SORT, 2000.0),)), tmp_path / "given.json")
    words = ("probe", "run", "work.yaml", "--calibration", "given.json", "--observations", "all.csv")
    done = hati_here(*words, "--format", "json", folder=tmp_path)
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert sorted((each["task"], each["sensor"], each["observations"]) for each in found["sensors"]) == [
        ("work", "cpu", 5),
        ("work", "response", 5),
    ]
    assert (tmp_path / "all.csv").read_text().count("\n") == 11
    kept = tmp_path / found["folder"]
    assert (kept / "task-set.yaml").read_text() == MODEL
    assert "work_sort(self, 50u);" in (kept / "role-0" / "load.c").read_text()
    assert "series 1 5 0" in (kept / "role-0" / "observations.txt").read_text()


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ((), ""),
        ((DemandCheck(0.1, 0.01, 0.3), DemandCheck(5.0, -0.02, 0.032)), "linearity +6.7%"),
        ((DemandCheck(0.1, 0.01, 0.3), DemandCheck(5.0, -0.08, 0.032)), "error of 5 ms -8.0%"),
    ],
)
@pytest.mark.parametrize("given", [True, False])
def test_each_run_warns_of_an_unstable_kernel_with_the_error_that_is_too_large(
    hati_here: Hati,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    checks: tuple[DemandCheck, ...],
    message: str,
    given: bool,
) -> None:
    (tmp_path / "work.yaml").write_text(MODEL)
    linearity = 0.067 if checks else 0.0
    unused = KernelCalibration(Kernel.MEMORY, 2000.0, linearity=0.5)
    used = KernelCalibration(Kernel.SORT, 2000.0, 0.032, linearity, checks=checks)
    kept = tmp_path / "kept.json"
    write_calibration(Calibration((unused, used)), kept)
    monkeypatch.setattr(task_sets, "_calibration_file", lambda *_: kept)
    words = ("--calibration", "kept.json") if given else ()
    done = hati_here("probe", "run", "work.yaml", *words, folder=tmp_path)
    assert done.status == 0, done.err
    shown = [line for line in done.err.splitlines() if "unstable" in line]
    assert len(shown) == bool(message)
    if message:
        assert f"the calibration of the kernel sort is unstable ({message}); calibrate on" in shown[0]


def on_two_machines(model: str) -> str:
    two = model[model.index("  - name: only") :].replace("only", "other").replace("here", "there")
    return model.replace("[here]", "[here, there]") + two


def test_a_dry_run_of_a_task_set_has_its_time_and_touches_nothing(hati_here: Hati, tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(MODEL.replace("count: 5", "count: 30"))
    before = sorted(tmp_path.rglob("*"))
    done = hati_here("probe", "run", "work.yaml", "--dry-run", folder=tmp_path)
    assert done.status == 0, done.err
    assert "1 machine task set would take about 3 ms; nothing is measured." in " ".join(done.out.split())
    assert sorted(tmp_path.rglob("*")) == before
    assert hati_here("probe", "run", "nowhere.yaml", "--dry-run", folder=tmp_path).status == 2
    (tmp_path / "work.yaml").write_text(MODEL.replace("do: loop", "do: lop"))
    assert "work.yaml:7" in hati_here("probe", "run", "work.yaml", "--dry-run", folder=tmp_path).err


SORT = {"kernel": "sort", "ns_per_unit": 2000.0}
CHECK = {"demand_ms": 5.0, "error": 0.0, "cv": 0.0}


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([SORT | {"ns_per_unit": -5.0}], "the kernel sort has `ns_per_unit` -5, beyond the 10 to 1e+06 ns that"),
        ([SORT | {"ns_per_unit": 1e-300}], "the kernel sort has `ns_per_unit` 1e-300, beyond"),
        ([SORT | {"ns_per_unit": 1e300}], "the kernel sort has `ns_per_unit` 1e+300, beyond"),
        ([SORT, {"kernel": "memory", "ns_per_unit": 0.0}], "the kernel memory has `ns_per_unit` 0, beyond"),
        ([SORT | {"cv": -1.0}], "`cv` -1, `linearity` 0 and `drift` 0, of which the first is 0 or more"),
        ([SORT | {"linearity": -7.0}], "`linearity` -7"),
        ([SORT | {"checks": [CHECK | {"demand_ms": -5.0}]}], "a demand of -5 ms with error 0 and variation 0 was not"),
        ([SORT | {"checks": [CHECK | {"error": -20.0}]}], "a demand of 5 ms with error -20 and variation 0 was not"),
        ([SORT, SORT], "the kernel sort is there twice"),
    ],
)
def test_a_calibration_that_no_machine_has_is_refused(
    hati_here: Hati, tmp_path: Path, kernels: Sequence[dict[str, object]], message: str
) -> None:
    (tmp_path / "work.yaml").write_text(MODEL)
    (tmp_path / "wrong.json").write_text(json.dumps({"kernels": kernels}))
    done = hati_here("probe", "run", "work.yaml", "--calibration", "wrong.json", folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    words = " ".join(done.err.split())
    assert "wrong.json is not a calibration: " in words
    assert message in words
    assert words.endswith("; write one by `hati probe calibrate --save FILE`")


def test_a_demand_below_half_of_a_unit_is_refused(hati_here: Hati, tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(MODEL)
    write_calibration(Calibration((KernelCalibration(Kernel.SORT, 3e5),)), tmp_path / "slow.json")
    done = hati_here("probe", "run", "work.yaml", "--calibration", "slow.json", folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    words = " ".join(done.err.split())
    assert "a demand of 0.1 ms is less than half of a unit of sort, which takes 300,000 ns by the calibration" in words


def test_json_has_the_warnings_and_that_two_machines_are_this_one(
    hati_here: Hati, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.json"
    write_calibration(Calibration((KernelCalibration(Kernel.SORT, 2000.0, linearity=0.5),)), kept)
    monkeypatch.setattr(task_sets, "_calibration_file", lambda *_: kept)
    (tmp_path / "work.yaml").write_text(on_two_machines(MODEL))
    done = hati_here("probe", "run", "work.yaml", "--format", "json", folder=tmp_path)
    together = "the machines here, there are all this one; name where an agent listens on another: --on NAME=HOST:PORT"
    unstable = "the calibration of the kernel sort is unstable (linearity +50.0%); "
    unstable += "calibrate on a quiet machine: hati probe calibrate"
    assert json.loads(done.out)["warnings"] == [together, unstable]
    words = " ".join(done.err.split())
    assert words.count(f"warning: {together}") == words.count(f"warning: {unstable}") == 1
    (tmp_path / "work.yaml").write_text(MODEL)
    done = hati_here("probe", "run", "work.yaml", "--format", "json", folder=tmp_path)
    assert json.loads(done.out)["warnings"] == [unstable]


def test_the_table_of_a_calibration_names_the_error_that_is_too_large() -> None:
    checks = (DemandCheck(0.1, 0.01, 0.3), DemandCheck(5.0, -0.02, 0.032))
    (row,) = calibration_table(
        Calibration((KernelCalibration(Kernel.SORT, 2000.0, linearity=0.067, checks=checks),))
    ).rows
    assert row[-1] == "unstable, linearity +6.7 %"


@pytest.mark.acceptance
def test_the_page_has_warnings_a_time_line_and_histograms(hati_here: Hati, tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(on_two_machines(MODEL.replace("demand_ms: 0.1", "units: 5")))
    done = hati_here("probe", "run", "work.yaml", "--format", "html", "--output", "page.html", folder=tmp_path)
    assert done.status == 0, done.err
    page = (tmp_path / "page.html").read_text()
    assert "the machines here, there are all this one" in page
    assert "20 observations of 4 sensors." in page
    assert "Time line of Work" in page
    assert "only work: response time" in page


def test_a_broken_one_is_refused_with_its_place(hati_here: Hati, tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(MODEL.replace("0.1", "-1"))
    done = hati_here("probe", "run", "work.yaml", folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert "work.yaml:9:48: -1 ms is not a demand; give 0.001 to 600,000 ms, which is 10 minutes" in done.err
    assert not (tmp_path / ".hati").exists()


def test_a_load_that_crashes_at_once_has_no_table(hati_here: Hati, tmp_path: Path) -> None:
    code = 'do: code, headers: [signal.h], execute: "raise(SIGSEGV);", name: work'
    (tmp_path / "work.yaml").write_text(MODEL.replace("do: cpu, kernel: sort, demand_ms: 0.1, name: work", code))
    done = hati_here("probe", "run", "work.yaml", folder=tmp_path)
    assert (done.status, done.out) == (4, "")
    assert "it was killed by signal 11; nothing was observed" in done.err
    whole = hati_here("probe", "run", "work.yaml", "--format", "json", folder=tmp_path)
    assert json.loads(whole.out)["problem"]


def test_an_identity_that_cannot_be_kept_is_warned_of_once(
    hati_here: Hati, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work.yaml").write_text(MODEL)
    (tmp_path / "file").touch()
    for variable in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "file"))
    monkeypatch.delenv("HATI_MACHINE", raising=False)
    done = hati_here("probe", "run", "work.yaml", folder=tmp_path)
    assert done.err.count("so a new kernel would look like another machine") == 1


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_cpu_that_is_not_there_is_refused_at_its_place_before_anything_runs(
    hati_here: Hati, tmp_path: Path, more: tuple[str, ...]
) -> None:
    (tmp_path / "work.yaml").write_text(MODEL.replace("demand_ms: 0.1", "units: 5, cpus: [1000]"))
    done = hati_here("probe", "run", "work.yaml", *more, folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert re.search(r"work\.yaml:9:\d+: this machine has no CPU 1000 for this process; it may use ", done.err)
    assert not (tmp_path / ".hati").exists()


def test_without_a_compiler_it_ends_with_4(hati_here: Hati, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work.yaml").write_text(MODEL.replace("demand_ms: 0.1", "units: 5"))
    monkeypatch.setenv("CC", "no-such-compiler")
    done = hati_here("probe", "run", "work.yaml", folder=tmp_path)
    assert (done.status, done.out) == (4, "")
    assert "there is no C compiler `no-such-compiler` on this machine; install one" in " ".join(done.err.split())


OWN_CODE = """\
name: Own C
machines: [here]
roles:
  - name: only
    machine: here
    task:
      do: sequence
      tasks:
        - {do: cpu, kernel: sort, units: 5}
        - do: code
          headers: [HEADER]
          declare: DECLARED
          prepare: |
            own->number = 1;
            PREPARED
          execute: |
            own->number++;

              EXECUTED
"""


@pytest.mark.parametrize(
    ("wrong", "part", "place", "text"),
    [
        ({"EXECUTED": "nonsense = 2;"}, "execute", ":19:15:", "              nonsense = 2;"),
        ({"EXECUTED": "("}, "execute", ":19:15:", "              ("),
        ({"PREPARED": "own->other = 2;"}, "prepare", ":15:16:", "            own->other = 2;"),
        ({"DECLARED": "nonsense number;"}, "declare", ":12:20:", "          declare: nonsense number;"),
        ({"HEADER": "no-such-header.h"}, "headers", ":11:20:", "          headers: [no-such-header.h]"),
    ],
)
def test_c_of_ones_own_that_cannot_be_compiled_is_shown_at_its_place(
    hati_here: Hati, tmp_path: Path, wrong: dict[str, str], part: str, place: str, text: str
) -> None:
    right = {"HEADER": "stdio.h", "DECLARED": "int number;", "PREPARED": ";", "EXECUTED": ";"}
    model = OWN_CODE
    for word, code in (right | wrong).items():
        model = model.replace(word, code)
    (tmp_path / "work.yaml").write_text(model)
    done = hati_here("probe", "run", "work.yaml", folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert f"work.yaml{place}" in done.err
    assert f"the C of `{part}` cannot be compiled: " in " ".join(done.err.split())
    assert f"  {text}" in done.err.splitlines()


BROKEN_OFF = """\
name: Broken off
machines: [here]
roles:
  - name: only
    machine: here
    task:
      do: loop
      count: 1000
      task:
        do: sequence
        tasks:
          - {do: cpu, kernel: sort, units: 5, name: work, sensors: [response]}
"""
DYING = """\
          - do: code
            headers: [signal.h]
            declare: int number;
            execute: if (++own->number == 5) raise(SIGKILL);
"""
FILLING = "          - {do: disk, operation: append_sync, bytes: 4096, file_bytes: 4194304, directory: DISK}\n"


@pytest.mark.parametrize(
    ("end", "reason", "possible"), [(DYING, "it was killed by signal 9", [5]), (FILLING, "No space", range(1, 1000))]
)
def test_what_ends_early_ends_with_4_and_what_was_measured_is_kept(
    hati_here: Hati, tmp_path: Path, small_disk: Path, end: str, reason: str, possible: Sequence[int]
) -> None:
    (tmp_path / "work.yaml").write_text(BROKEN_OFF + end.replace("DISK", str(small_disk)))
    words = ("--observations", "all.csv", "--format", "json")
    done = hati_here("probe", "run", "work.yaml", *words, folder=tmp_path)
    assert done.status == 4
    assert reason in " ".join(done.err.split())
    found = json.loads(done.out)
    assert reason in found["problem"]
    ((task, observed),) = ((each["task"], each["observations"]) for each in found["sensors"])
    assert task == "work"
    assert observed in possible
    assert (tmp_path / "all.csv").read_text().count("\n") == observed + 1
    assert f"series 0 {observed} 0" in (tmp_path / found["folder"] / "role-0" / "observations.txt").read_text()


INTERRUPTING = """\
          - do: code
            headers: [signal.h, unistd.h]
            declare: int number;
            execute: if (++own->number == 5) { kill(HATI, SIGINT); pause(); }
"""


@pytest.mark.acceptance
def test_what_is_interrupted_ends_with_130_and_what_was_measured_is_kept(hati_here: Hati, tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(BROKEN_OFF + INTERRUPTING.replace("HATI", str(os.getpid())))
    words = ("--observations", "all.csv", "--format", "json")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = hati_here("probe", "run", "work.yaml", *words, folder=tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.status == 130, done.err
    found = json.loads(done.out)
    assert done.err == f"what was observed is in {found['folder']}\ninterrupted\n"
    assert (found["problem"], found["sensors"][0]["observations"]) == ("it was interrupted", 5)
    assert (tmp_path / "all.csv").read_text().count("\n") == 6
    assert "series 0 5 0" in (tmp_path / found["folder"] / "role-0" / "observations.txt").read_text()


def test_on_a_full_disk_nothing_is_run(hati_here: Hati, small_disk: Path) -> None:
    (small_disk / "work.yaml").write_text(MODEL.replace("demand_ms: 0.1", "units: 5"))
    (small_disk / "full").write_bytes(bytes(1000 * 1024))
    done = hati_here("probe", "run", "work.yaml", folder=small_disk)
    assert (done.status, done.out) == (4, "")
    assert "No space left on device" in " ".join(done.err.split())


def test_a_calibration_that_a_full_disk_cannot_keep_ends_with_4(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))
    made = Calibration((KernelCalibration(Kernel.SORT, 2000.0),))
    monkeypatch.setattr(task_sets, "calibrate_machine", lambda *_: made)
    with suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    assert main(["probe", "calibrate", "--save", str(small_disk / "kept.json")]) == 4
    assert "kept.json cannot be written: No space left on device (0 B free); free some space" in capfd.readouterr().err


def test_without_a_folder_for_temporary_files_the_remedy_is_tmpdir(
    hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(**_: object) -> NoReturn:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/nowhere', '/']")

    monkeypatch.setattr(task_sets, "TemporaryDirectory", failing)
    done = hati_here("probe", "calibrate")
    assert done.status == 4
    assert "in ['/nowhere', '/']; free some space there, or set TMPDIR to a folder" in " ".join(done.err.split())


def test_a_calibration_that_could_not_be_kept_is_not_made(
    hati_here: Hati, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("no folder")
    monkeypatch.setattr("hati.wiring.probes.task_sets.calibrate", lambda *_, **__: pytest.fail("measured"))
    assert hati_here("probe", "calibrate", "--save", "state/file.json").status == 2
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    done = hati_here("probe", "calibrate")
    assert done.status == 2
    assert "Not a directory" in done.err
    assert "set XDG_STATE_HOME to a folder that can be written" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--on", "here"], "--on 'here' is not NAME=HOST:PORT; write it like"),
        (["--on", "here=10.0.0.2:"], "--on 'here=10.0.0.2:' is not NAME=HOST:PORT"),
        (["--on", "here=10.0.0.2:65536"], "is not NAME=HOST:PORT"),
        (["--on", "here=10.0.0.2:1"], "--on needs a key; add --key FILE"),
        (["--key", "key"], "--key is of the machines of --on; add --on NAME=HOST:PORT, or leave --key out"),
        (["--on", "here=10.0.0.2:1", "--key", "none"], "cannot read the key in none: No such file"),
        (["--on", "hare=10.0.0.2:1", "--key", "key"], "work.yaml has no machine 'hare'; did you mean 'here'?"),
        (["--on", "here=a:1", "--on", "here=b:1", "--key", "key"], "--on names the machine 'here' twice"),
    ],
)
def test_a_machine_that_is_named_wrongly_is_refused(
    hati_here: Hati, tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "work.yaml").write_text(MODEL)
    (tmp_path / "key").write_text("k" * 64)
    done = hati_here("probe", "run", "work.yaml", *words, folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.split())
    assert not (tmp_path / ".hati").exists()


PLACES = ("7411", "10.0.0.2", "127.0.0.1:port", "127.0.0.1:99999", "127.0.0.1:-5", "127.0.0.1:1\u0663", "a..b:1", ":1")


@pytest.mark.parametrize("place", PLACES)
def test_a_place_is_a_host_and_a_port(hati_here: Hati, tmp_path: Path, place: str) -> None:
    (tmp_path / "work.yaml").write_text(MODEL)
    done = hati_here("probe", "agent", "--listen", place, "--key", "key", folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert f"cannot listen at {place!r}: it is not HOST:PORT; write it like" in " ".join(done.err.split())
    assert not (tmp_path / "key").exists()
    (tmp_path / "key").write_text("k" * 64)
    done = hati_here("probe", "run", "work.yaml", "--on", f"here={place}", "--key", "key", folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert f"--on {f'here={place}'!r} is not NAME=HOST:PORT; write it like" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("address", "reasons"),
    [
        ("203.0.113.7:0", ["Cannot assign requested address"]),
        ("no-such-host.invalid:1", ["Name or service not known", "Temporary failure in name resolution"]),
    ],
)
def test_an_agent_listens_at_an_address_of_this_machine(
    hati_here: Hati, tmp_path: Path, address: str, reasons: list[str]
) -> None:
    done = hati_here("probe", "agent", "--listen", address, "--key", "key", folder=tmp_path)
    assert (done.status, done.out) == (2, "")
    said = " ".join(done.err.split())
    assert any(f"cannot listen at '{address}': {reason}; give an address" in said for reason in reasons)
