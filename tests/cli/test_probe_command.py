"""``hati probe`` from outside, with real kernels where they are quick."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import sleep

import numpy as np
import psutil
import pytest

from hati.cli import main
from hati.core import MeasurementError
from hati.document import publish
from hati.driver import make_key
from hati.probing import Executed, KernelProgram, NotPermittedError, Setting, execute
from hati.render import to_json
from hati.store import Selection, open_store
from hati.studies.probe import (
    LIBRARY,
    Inputs,
    ProbeConclusion,
    Probed,
    ProbeVerdict,
    Property,
    chosen_experiments,
    not_injected,
    recovered,
)
from hati.studies.probe.document import ProbeJson
from hati.wiring.probes import experiments, selftest, virtual
from hati.wiring.probes.results import side_of
from interrupts import still_running

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HATI_STORE", raising=False)
    monkeypatch.setenv("HATI_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))


def quiet(name: str, setting: Setting, inputs: Inputs) -> Executed:
    """Execute an experiment; readings of the clock are those without other load."""
    done = execute(name, setting, inputs)
    costs = {key: np.full(100, 20_000.0) for key in done.raw if key.startswith("cost_ps")}
    return done._replace(raw=done.raw | costs | {"others": np.zeros(1)}) if costs else done


@pytest.fixture(scope="session")
def clock() -> Executed:
    """A measurement of the clock."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("hati.probing.executing._BETWEEN_WINDOWS", 0.0)
        return quiet("clock.reading", Setting(KernelProgram(), Path()), {})


@pytest.fixture(autouse=True)
def _measured_once(monkeypatch: pytest.MonkeyPatch, clock: Executed) -> None:
    """The clock is not measured for each test."""

    def recorded(name: str, setting: Setting, inputs: Inputs) -> Executed:
        return clock if name == "clock.reading" else execute(name, setting, inputs)

    monkeypatch.setattr(experiments, "execute", recorded)


def said(capture: Capture, *arguments: str, status: int = 0) -> tuple[str, str]:
    assert main(arguments) == status, capture.readouterr().err
    found = capture.readouterr()
    return found.out, found.err


def test_a_domain_is_measured_kept_and_reused(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "execute", quiet)
    out, err = said(capfd, "probe", "clock", "--quick")
    assert "clock.cost" in out
    assert "[1/1] clock.reading" in err
    again, err = said(capfd, "probe", "measure", "clock", "--quick", "--format", "json")
    assert not err
    found = json.loads(again)
    assert found["format"] == "hati-probe-1"
    (one,) = found["experiments"]
    assert one["reused"]
    assert one["method"] == "back-to-back-3"
    assert 1.0 < one["properties"][0]["value"] < 1e5
    _, err = said(capfd, "probe", "clock", "--quick", "--max-age", "0")
    assert "clock.reading" in err
    out, _ = said(capfd, "runs")
    assert "2 runs." in out


def test_a_report_of_what_was_probed_is_had_by_probe(capfd: Capture, tmp_path: Path) -> None:
    said(capfd, "probe", "clock", "--quick")
    study = open_store(str(tmp_path / "store.sqlite")).studies()[0].id
    said(capfd, "init")
    _, err = said(capfd, "report", "--study", study.key, status=2)
    assert "see its properties by `hati probe`" in err
    assert "install" not in err


def test_nobody_else_measures_meanwhile(capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute, holders = experiments.execute, []

    def noting(name, setting, inputs):
        holders.append((tmp_path / "lock").read_text())
        return execute(name, setting, inputs)

    monkeypatch.setattr(experiments, "execute", noting)
    said(capfd, "probe", "clock", "--quick")
    assert holders == [f"{os.getpid()} probe clock.reading"]
    assert not (tmp_path / "lock").read_text()


def command_of(process: psutil.Process) -> list[str]:
    """The words of a process's command; none of one that has just ended, such as a compiler's."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def test_a_kernel_ends_with_the_hati_that_started_it() -> None:
    minute = 60_000_000_000
    program = f"from hati.probing import KernelProgram; KernelProgram().run('spin', {minute}, -1, 'other', 1, 1000, 10)"
    parent = psutil.Popen([sys.executable, "-c", program])
    try:
        while not (kernels := [each for each in parent.children(recursive=True) if "spin" in command_of(each)]):
            assert parent.poll() is None
            sleep(0.02)
    finally:
        parent.kill()
        parent.wait()
    assert not still_running(kernels)


@pytest.mark.acceptance
@pytest.mark.parametrize("quick", [("--quick",), ()])
def test_a_killed_probe_goes_on_with_what_it_has_not_measured(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch, quick: tuple[str, ...]
) -> None:
    words = ("probe", "clock", "net", *quick)
    program = f"from hati.cli import main; main({words!r})"
    killed = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    assert killed.stderr is not None
    assert any("[2/2] net.loopback" in line for line in killed.stderr)
    killed.kill()
    killed.wait()
    killed.stderr.close()
    with monkeypatch.context() as patched:
        patched.setattr(experiments.Probed, "contaminated", False)  # as other load may have made it
        out, err = said(capfd, *words, "--format", "json")
    assert "clock.reading" not in err
    assert [each["reused"] for each in json.loads(out)["experiments"]] == [True, False]


@pytest.mark.acceptance
def test_a_full_disk_ends_it_with_4_and_what_was_measured_is_kept(
    capfd: Capture, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute, filler = experiments.execute, small_disk / "filler"
    monkeypatch.setenv("HATI_STORE", str(small_disk / "store.sqlite"))

    def filling(name, setting, inputs):
        if name == "net.loopback":
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(512))
        return execute(name, setting, inputs)

    monkeypatch.setattr(experiments, "execute", filling)
    _, err = said(capfd, "probe", "clock", "net", "--quick", status=4)
    assert "full" in err
    filler.unlink()
    monkeypatch.setattr(experiments, "execute", execute)
    monkeypatch.setattr(experiments.Probed, "contaminated", False)  # as other load may have made it
    out, _ = said(capfd, "probe", "clock", "net", "--quick", "--format", "json")
    assert [each["reused"] for each in json.loads(out)["experiments"]] == [True, False]


@pytest.mark.parametrize("words", [("--fit", "--quick"), ("--quick", "--fit"), ("fit", "--quick")])
def test_whether_this_machine_is_fit_is_always_measured_quickly(capfd: Capture, words: tuple[str, ...]) -> None:
    assert main(["probe", *words]) == 2
    assert "is always quick; leave out --quick" in capfd.readouterr().err


@pytest.mark.acceptance
def test_a_library_that_is_killed_in_the_middle_keeps_what_was_measured(capfd: Capture, tmp_path: Path) -> None:
    words = ("probe", "--quick")
    names = [each.name for each in chosen_experiments(())]
    killed = subprocess.Popen(
        [sys.executable, "-c", f"from hati.cli import main; main({words!r})"], stderr=subprocess.PIPE, text=True
    )
    assert killed.stderr is not None
    assert any(line.startswith(f"[7/{len(names)}] {names[6]}:") for line in killed.stderr)
    sleep(0.3)
    killed.kill()
    killed.wait()
    killed.stderr.close()
    store = open_store(str(tmp_path / "store.sqlite"))
    before = {run.task.benchmark: (run.started, run.observations) for run in store.runs(Selection())}
    assert set(before) <= set(names[:6])
    out, err = said(capfd, *words, "--format", "json")
    measured = [line.split("] ")[1].partition(":")[0] for line in err.splitlines() if line.startswith("[")]
    assert set(names) - set(before) <= set(measured), "what is contaminated is measured again, too"
    found = json.loads(out)["experiments"]
    assert [each["experiment"] for each in found] == names
    assert [each["experiment"] for each in found if each["reused"]] == [name for name in names if name not in measured]
    after = store.runs(Selection())
    for name, (started, observations) in before.items():
        (kept,) = (run for run in after if run.task.benchmark == name and run.started == started)
        for one, other in zip(kept.observations, observations, strict=True):
            assert (one.values == other.values).all(), "what was measured is kept"


def test_a_quick_result_does_not_serve_a_longer_measurement(capfd: Capture) -> None:
    said(capfd, "probe", "clock", "--quick")
    assert "clock.reading" in said(capfd, "probe", "clock")[1]
    assert not said(capfd, "probe", "clock", "--quick")[1]


def test_what_is_refused_has_its_reason_and_the_rest_is_reported(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = experiments.execute

    def refusing(name, setting, inputs):
        if name == "net.loopback":
            raise MeasurementError("there is no loopback")
        return execute(name, setting, inputs)

    monkeypatch.setattr(experiments, "execute", refusing)
    out, _ = said(capfd, "probe", "net", "clock", "--quick")
    assert "net.loopback: there is no loopback" in out
    assert "clock.cost" in out
    _, err = said(capfd, "probe", "net", "--quick", status=4)
    assert "nothing was measured: net.loopback: there is no loopback" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cpus"], "there is no experiment or domain 'cpus'"),
        (["cpu", "--given", "cpu.rate"], "is not NAME=VALUE"),
        (["cpu", "--given", "cpu.rate=-1"], "is not a positive number"),
        (["cpu", "--given", "cpu.quota=50"], "is not an input"),
        (["cpu", "--given", "clock.cost=1e9"], "clock.cost=1e+09 is beyond all machines; give 0.1 to 1e+06 ns"),
        (["mem", "--given", "mem.caches=1"], "mem.caches=1 is beyond all machines; give 1024 to 1.09951e+12 B"),
        (
            ["sched.demand", "--given", "sched.slice=1e12"],
            "sched.slice=1e+12 is beyond all machines; give 0.001 to 100",
        ),
        (["cpu", "--max-age", "yesterday"], "is not a valid duration"),
        (["disk", "--folder", "nowhere"], "is not a folder"),
        (["net", "--on", "two=10.0.0.2:7411"], "--on needs a key"),
        (["cpu", "--on", "two=10.0.0.2:7411", "--key", "key"], "net.two is not measured; name the domain net"),
        (["virt", "--inside", "no-such-program sh"], "there is no program `no-such-program` on this machine"),
        (["virt", "--inside", "nice '"], "is not a command: No closing quotation; close the quotation"),
        (["virt", "--inside", " "], "--inside has no command; write it like --inside 'docker exec -i NAME'"),
        (["clock", "--inside", "nice"], "--inside and --reference are of virt.speed; name the domain virt"),
        (["virt", "--reference", "nowhere.json"], "nowhere.json: there is no such file; relative paths begin at"),
        (["net", "--on", "loopback=10.0.0.2:7411", "--key", "key"], "there is an experiment 'net.loopback' already"),
    ],
)
def test_what_is_asked_wrongly_is_refused(capfd: Capture, words: list[str], message: str) -> None:
    make_key(Path("key"))
    assert message in said(capfd, "probe", *words, status=2)[1]


def test_without_something_to_compare_with_virtualisation_is_refused_at_once(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiments, "KernelProgram", None)
    _, err = said(capfd, "probe", "virt.speed", status=4)
    assert "nothing was measured: virt.speed: it compares work here with work elsewhere; run `hati probe" in err
    assert "--inside 'docker exec -i NAME'" in err
    assert "--reference FILE" in err


def test_a_domain_says_what_its_comparison_needs_without_a_failure(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = {"stolen": np.zeros(8), "tick": np.array([0.01]), "before": np.array([5.0])}
    monkeypatch.setattr(experiments, "execute", lambda *_: Executed(raw, ()))
    out, _ = said(capfd, "probe", "virt", "--quick")
    assert "failed runs" not in out
    words = " ".join(out.partition("warnings")[2].replace("`", "").split())
    assert words.startswith("- virt.speed is not measured: it compares work here with work elsewhere; run hati probe")

    def refusing(*_: object) -> Executed:
        raise NotPermittedError("no hypervisor runs this machine")

    monkeypatch.setattr(experiments, "execute", refusing)
    _, err = said(capfd, "probe", "virt", "--quick", "--max-age", "0", status=4)
    assert "nothing was measured: virt.steal: no hypervisor" in err


@pytest.mark.parametrize(
    ("given", "times"), [("4.0e8", "1e+03"), ("1e300", "2.5e+294"), ("1e-300", "2.5e-306"), ("3.9e4", "0.0975")]
)
def test_a_given_rate_in_another_unit_is_refused_before_anything_is_measured(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch, given: str, times: str
) -> None:
    monkeypatch.setattr(KernelProgram, "run", lambda *_, **__: {"work_cpu_ns": np.full(9, 5e5)})
    _, err = said(capfd, "probe", "cpu", "clock", "--given", f"cpu.rate={given}", status=2)
    assert f"cpu.rate is about 400,000 1/ms here: the given one is {times} times that" in err
    assert "[1/" not in err
    assert not Path("store.sqlite").exists()


DOMAINS = tuple(dict.fromkeys(each.domain for each in LIBRARY))


@pytest.mark.parametrize(
    "words",
    [
        (),
        *((domain,) for domain in DOMAINS),
        *((each.name,) for each in LIBRARY if not each.asks),
        ("--fit",),
        ("virt.speed", "--inside", "env"),
        ("net", "--on", "two=10.0.0.2:7411", "--key", "key"),
    ],
)
def test_a_dry_run_plans_and_touches_nothing(
    capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    make_key(Path("key"))
    for name in ("STATE", "CACHE", "RUNTIME"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "none"))
    monkeypatch.setattr(experiments, "KernelProgram", None)
    before = sorted(tmp_path.rglob("*"))
    found = json.loads(said(capfd, "probe", *words, "--dry-run", "--format", "json")[0])
    assert found["format"] == "hati-probe-plan-1"
    assert 0.0 < found["seconds"] == pytest.approx(sum(each["seconds"] for each in found["experiments"]))
    assert "nothing is measured." in said(capfd, "probe", *words, "--dry-run")[0]
    assert sorted(tmp_path.rglob("*")) == before
    said(capfd, "probe", "cpus", "--dry-run", status=2)


def test_a_given_cost_of_the_clock_in_another_unit_is_refused(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelProgram, "run", lambda *_, **__: {"cost_ps": np.full(24, 22_000.0)})
    _, err = said(capfd, "probe", "cpu.limit", "--given", "clock.cost=2.2e4", status=2)
    assert "clock.cost is about 22 ns here: the given one is 1e+03 times that; give it in ns, as `hati probe" in err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("mem.bandwidth", -3.0, "B/s", None), "mem.bandwidth is -3; write the file"),
        (("mem.last_latency", 0.0, "ns", None), "mem.last_latency is 0; write the file"),
        (("disk.durable", 1.0, "kB/s", None), "disk.durable is in 'kB/s', and not in 'B/s'; write the file"),
        (("mem.bandwidth", 5.0, "B/s", (6.0, 4.0)), "mem.bandwidth is between 6 and 4; write the file"),
    ],
)
def test_what_no_machine_has_is_refused_in_a_file(
    capfd: Capture, change: tuple[str, float, str, tuple[float, float] | None], message: str
) -> None:
    found = ProbeConclusion("host", "f", (Probed("cpu.x", "", "m", properties=(Property(*change),)),))
    Path("host.json").write_text(to_json(publish(found, ProbeJson)))
    for words in (("diff", "host.json", "host.json"), ("export", "host.json"), ("virt", "--reference", "host.json")):
        assert f"host.json: {message} by `hati probe --format json`" in said(capfd, "probe", *words, status=2)[1]


def test_a_home_that_cannot_be_written_has_a_remedy(
    capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HATI_STORE")
    (tmp_path / "state").write_text("not a folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HATI_MACHINE", "named")
    for words in (("clock", "--quick"), ("--fit",)):
        _, err = said(capfd, "probe", *words, status=2)
        assert (
            "state/hati cannot be written: Not a directory; set XDG_STATE_HOME to a folder that can be written" in err
        )
        assert "or name a store by --store FILE" in err
    for words in (("diff", "here", "here"), ("export",)):
        assert "there is no store" in said(capfd, "probe", *words, status=2)[1]


@pytest.mark.parametrize(
    ("names", "status"),
    [(["virt.speed"], 4), (["virt"], 4), (["sched.round_robin", "cpu.work"], 4), (["sched", "cpu.work"], 0)],
)
def test_an_experiment_that_is_named_and_not_measured_ends_with_4(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch, names: list[str], status: int
) -> None:
    raw = {"units": np.array([2e5]), "others": np.zeros(1)} | {
        f"work_cpu_ns/{burst}": np.full(9, 5e5 + 100 * burst) for burst in range(6)
    }

    def only_work(name: str, *_: object) -> Executed:
        if name != "cpu.work":
            raise NotPermittedError("not here")
        return Executed(raw, ())

    monkeypatch.setattr(experiments, "execute", only_work)
    inside = ("--inside", "false") if names[0].startswith("virt") else ()
    _, err = said(capfd, "probe", *names, "--quick", *inside, status=status)
    assert ("is not measured" in err) is (status == 4)


def host(rate: float, verdict: str = "measured") -> str:
    """The results of another machine, in a file."""
    reason = "" if verdict == "measured" else "others used 40 %"
    known = Property("cpu.rate", rate, "1/ms", (0.99 * rate, 1.01 * rate), ProbeVerdict(verdict), reason)
    found = ProbeConclusion("host", "f", (Probed("cpu.work", "", "cpu-time-3", properties=(known,)),))
    file = f"host-{rate:g}.json"
    Path(file).write_text(to_json(publish(found, ProbeJson)))
    return file


def test_work_is_compared_with_another_machines_and_kept_for_each(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = {"units": np.array([2e5]), "others": np.zeros(1)} | {
        f"work_cpu_ns/{burst}": np.full(9, 5e5 + 100 * burst) for burst in range(6)
    }
    monkeypatch.setattr(virtual, "execute", lambda *_: Executed(raw, ()))
    for rate, reused in ((440_000.0, False), (480_000.0, False), (440_000.0, True)):
        words = ("probe", "virt.speed", "--quick", "--reference", host(rate))
        (found,) = json.loads(said(capfd, *words, "--format", "json")[0])["experiments"]
        assert found["reused"] is reused
        (slowdown,) = found["properties"]
        assert slowdown["name"] == "virt.cpu_slowdown"
        assert slowdown["value"] == pytest.approx(rate / 400_000.0, rel=0.001)
        assert slowdown["interval"][0] == pytest.approx(0.99 * slowdown["value"], rel=0.001)
        assert slowdown["reason"].startswith("not interleaved: host was measured at another time")
    words = ("probe", "virt", "--inside", "nice", "--reference", host(440_000.0))
    assert "are two comparisons; measure one after the other" in said(capfd, *words, status=2)[1]
    words = ("probe", "virt", "--reference", host(1.0, "contaminated"))
    assert "cpu.rate of host is contaminated: others used 40 %; run `hati" in said(capfd, *words, status=2)[1]


def test_without_a_compiler_nothing_is_measured(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "there is no C compiler `no-such-compiler`" in said(capfd, "probe", "clock", status=4)[1]


def test_two_sides_with_the_same_results_are_said_to_be_the_same(capfd: Capture, tmp_path: Path) -> None:
    said(capfd, "probe", "clock", "--quick", "--format", "json", "--output", "a.json")
    day = json.loads((tmp_path / "a.json").read_text())["experiments"][0]["measured_at"][:10]
    for sides in (("a.json", "a.json"), (day, day), (day, "here"), ("a.json", "here")):
        assert "both sides are the same results" in said(capfd, "probe", "diff", *sides)[0], sides
    said(capfd, "probe", "clock", "--quick", "--max-age", "0")
    assert "the same results" not in said(capfd, "probe", "diff", "a.json", "here")[0]


def test_a_date_in_the_future_has_no_results(capfd: Capture) -> None:
    said(capfd, "probe", "clock", "--quick")
    for date in ("2999-01-01", "2999-01-01T12:00:00+02:00"):
        error = said(capfd, "probe", "diff", "here", date, status=2)[1]
        assert f"{date} is in the future: nothing was measured yet; today is 2" in error


@pytest.mark.parametrize("rate", [-5.0, 0.0])
@pytest.mark.parametrize("words", [("diff", "here"), ("export",), ("virt", "--reference")])
def test_a_rate_that_is_no_positive_number_is_refused(capfd: Capture, rate: float, words: tuple[str, ...]) -> None:
    said(capfd, "probe", "clock", "--quick")
    assert f"cpu.rate is {rate:g}; write the file by" in said(capfd, "probe", *words, host(rate), status=2)[1]


def test_a_file_with_a_time_that_is_none_is_no_result(capfd: Capture) -> None:
    file = Path(host(400.0))
    file.write_text(file.read_text().replace('"measured_at": null', '"measured_at": "soon"'))
    assert "is not a result of hati probe" in said(capfd, "probe", "diff", str(file), str(file), status=2)[1]


def test_two_results_are_compared_from_files_dates_and_machines(capfd: Capture, tmp_path: Path) -> None:
    said(capfd, "probe", "clock", "--quick", "--format", "json", "--output", "a.json")
    found = json.loads((tmp_path / "a.json").read_text())
    day = found["experiments"][0]["measured_at"][:10]
    assert "0 of 3 properties differ." in said(capfd, "probe", "diff", day, found["machine"])[0]
    properties = found["experiments"][0]["properties"]
    (cost,) = (each for each in properties if each["name"] == "clock.cost")
    for each in properties:  # a loaded machine measures nothing certain
        each |= {"value": 20.0, "interval": [19.0, 21.0], "verdict": "measured", "reason": ""}
    for file, value in (("a.json", 20.0), ("b.json", 60.0)):
        cost |= {"value": value, "interval": [0.95 * value, 1.05 * value]}
        (tmp_path / file).write_text(json.dumps(found))
    out, _ = said(capfd, "probe", "diff", "a.json", "b.json", "--format", "json")
    (changed, *_) = json.loads(out)["properties"]
    assert changed["name"] == "clock.cost"
    assert changed["ratio"] == pytest.approx(3.0)
    same = said(capfd, "probe", "diff", "a.json", "a.json")[0]
    assert "0 of 3 properties differ." in same
    assert re.search(r"alike +3, not listed", same)
    assert "clock.cost" not in same
    listed = said(capfd, "probe", "diff", "a.json", "b.json")[0]
    assert next(line for line in listed.splitlines() if line.startswith("clock.")).startswith("clock.cost ")
    assert re.search(r"alike +2, not listed", listed)
    assert "no results of" in said(capfd, "probe", "diff", "2020-01-01", day, status=2)[1]
    assert "neither a file nor a date" in said(capfd, "probe", "diff", "nowhere", day, status=2)[1]
    missing = said(capfd, "probe", "diff", "aa.json", day, status=2)[1]
    assert "aa.json: there is no such file; did you mean 'a.json'?" in missing
    (tmp_path / "c.json").write_text("{}")
    assert "is not a result of hati probe" in said(capfd, "probe", "diff", "c.json", day, status=2)[1]


def test_a_contaminated_result_hides_no_measured_one_of_the_day_and_is_measured_again(
    capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute, costs = experiments.execute, np.full(100, 20_000.0)

    def costing(name, setting, inputs):
        done = execute(name, setting, inputs)
        known = {key: costs for key in done.raw if key.startswith("cost_ps/")}
        return done._replace(raw=done.raw | known | {"others": np.zeros(1)})

    monkeypatch.setattr(experiments, "execute", costing)
    said(capfd, "probe", "clock", "--quick")
    costs = np.repeat([60_000.0, 90_000.0], 50)
    found = said(capfd, "probe", "clock", "--quick", "--max-age", "0", "--format", "json", "--output", "bad.json")
    assert (
        json.loads((tmp_path / "bad.json").read_text())["experiments"][0]["properties"][0]["verdict"] == "contaminated"
    )
    assert "[1/1]" in found[1]
    out, _ = said(capfd, "probe", "diff", "bad.json", "here", "--format", "json")
    (cost,) = (each for each in json.loads(out)["properties"] if each["name"] == "clock.cost")
    assert cost["before"]["verdict"] == "contaminated"
    assert cost["after"]["verdict"] == "measured"
    assert cost["after"]["value"] == pytest.approx(20.0)
    again = said(capfd, "probe", "clock", "--quick")
    assert "[1/1] clock.reading" in again[1]
    assert "to measure again what is contaminated: hati probe clock.reading" in " ".join(
        "".join(again).replace("`", "").split()
    )
    costs = np.full(100, 30_000.0)
    assert "[1/1] clock.reading" in said(capfd, "probe", "clock", "--quick")[1]
    assert "[1/1] clock.reading" not in said(capfd, "probe", "clock", "--quick")[1]
    assert side_of("here", str(tmp_path / "store.sqlite"))[1].properties["clock.cost"].value == pytest.approx(30.0)


def test_the_self_test_reports_every_outcome_and_fails_where_a_truth_is_missed(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = recovered("quota 50/100 ms", 50.0, 0.05, Property("cpu.quota", 50.2, "ms"))
    refused = not_injected("one-way delay 5 ms", 1e4, "us", 0.05, "the kernel has no netem")
    monkeypatch.setattr(selftest, "selftest", lambda announce: (right, refused))
    out, _ = said(capfd, "probe", "--selftest")
    assert "one-way delay 5 ms: the kernel has no netem" in out
    assert "Of 2 truths: 1 recovered, 0 disturbed, 0 missed, 1 refused." in out
    wrong = recovered("quota 25/100 ms", 25.0, 0.05, Property("cpu.quota", 50.2, "ms"))
    monkeypatch.setattr(selftest, "selftest", lambda announce: (right, wrong))
    assert "1 missed" in said(capfd, "probe", "selftest", status=4)[0]


def test_what_the_kernel_does_not_permit_is_refused_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise NotPermittedError("the kernel lets this process make no control group", fix="run it as root")

    for name in ("group_with", "round_robin_slice_of", "reserve_of", "link_with", "inside_experiment"):
        monkeypatch.setattr(selftest, name, refusing)
    monkeypatch.setattr(selftest, "restore_settings", lambda: None)
    found = selftest.selftest(lambda _: None)
    assert {each.outcome for each in found} == {"refused"}
    assert {each.reason for each in found} == {"the kernel lets this process make no control group; run it as root"}
    truths = {each.name: each.truth for each in found}
    assert len(truths) >= 20
    assert truths["no quota"] is None
    assert truths["work of a factor of 1.067 inside"] == 1.067


def test_a_truth_that_cannot_be_measured_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise MeasurementError("the kernel spin ends early")

    for name in ("group_with", "round_robin_slice_of", "reserve_of", "link_with"):
        monkeypatch.setattr(selftest, name, failing)
    monkeypatch.setattr(selftest, "restore_settings", lambda: None)
    found = [each for each in selftest.selftest(lambda _: None) if "no sizes of caches" not in each.reason]
    refused = {each.name for each in found if each.outcome == "refused"}
    assert refused <= {"timeslice of EEVDF at 250 ticks a second"}
    missed = [each for each in found if each.outcome == "missed"]
    assert len(missed) >= 20
    assert {each.reason for each in missed} == {"it could not be measured: the kernel spin ends early"}
