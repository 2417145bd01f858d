"""Every other verb from outside: what it prints, in each format, and what it does to the store."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet
import pytest
from golden_json import held

from hati.cli import INTERRUPTED, app, commands, main
from hati.store import Selection, open_store
from hati.wiring.study_types import own_type
from interrupts import heeding_signals

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).resolve().parents[2]

PROJECT = """\
[subject]
name = "s"

[[benchmark]]
name = "b"
command = ["python3", "-S", "-c", "import json; print(json.dumps({{'metric': 'm', 'values': [3.0, {x}, {x} + 0.5]}}))"]
reader = "hati"
warmup = 1

[[benchmark.metric]]
name = "m"
unit = "ms"

[options.x]
settings = [1, 2]

[options.y]
settings = ["p", "q"]
active_if = "x == 2"
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "hati.toml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capture: Capture, *arguments: str, status: int = 0) -> str:
    assert main(arguments) == status, capture.readouterr().err
    return capture.readouterr().out


class TestSpace:
    def test_count(self, project: Path, capfd: Capture) -> None:
        assert json.loads(told(capfd, "space", "count", ".", "--format", "json")) == {
            "format": "hati-space-count-1",
            "configurations": 3,
        }
        assert told(capfd, "space", "count") == "3 configurations\n"

    def test_list_leaves_inactive_options_empty(self, project: Path, capfd: Capture) -> None:
        rows = list(csv.DictReader(io.StringIO(told(capfd, "space", "list", "--format", "csv"))))
        assert sorted((row["x"], row["y"]) for row in rows) == [("1", ""), ("2", "p"), ("2", "q")]

    def test_sample_repeats_with_its_seed(self, project: Path, capfd: Capture) -> None:
        one, again, other = (
            told(capfd, "space", "sample", ".", "--count", "40", "--seed", seed, "--format", "csv") for seed in "112"
        )
        assert one == again != other
        assert len(one.splitlines()) == 41

    def test_more_than_a_million_are_not_drawn(self, project: Path, capfd: Capture) -> None:
        assert main(("space", "sample", ".", "--count", "1000001")) == 2
        assert "1<=x<=1000000" in capfd.readouterr().err

    def test_check(self, project: Path, capfd: Capture) -> None:
        assert "2 options, 0 constraints" in told(capfd, "space", "check")

    def test_import_makes_a_project_that_counts_the_same(
        self, project: Path, capfd: Capture, shared_data: Path
    ) -> None:
        model = shared_data / "configurable-systems" / "lrzip" / "FeatureModel.xml"
        told(capfd, "space", "import", str(model), "--output", "lrzip.toml")
        assert json.loads(told(capfd, "space", "count", "lrzip.toml", "--format", "json")) == {
            "format": "hati-space-count-1",
            "configurations": 432,
        }
        told(capfd, "space", "import", "no-such-file.xml", status=2)

    def test_what_is_too_much_to_list_is_refused(self, project: Path, capfd: Capture) -> None:
        options = "".join(f"[options.o{n}]\nsettings = [0, 1]\n" for n in range(40))
        (project / "hati.toml").write_text(options)
        assert main(["space", "list"]) == 2
        assert "--limit" in capfd.readouterr().err
        assert len(told(capfd, "space", "list", "--limit", "3", "--format", "csv").splitlines()) == 4


class TestDesign:
    def test_the_promised_keys(self, project: Path, capfd: Capture) -> None:
        generators = "F=ABC,G=ABD,H=ACD,I=BCD,J=ABE,K=ACE,L=BCE,M=ADE,N=BDE"
        words = ("design", "--factors", "A-N", "--generators", generators, "--alias-order", "4", "--format", "json")
        design = json.loads(told(capfd, *words))
        assert design["runs"] == 32
        assert design["resolution"] == 4
        assert design["word_length_pattern"] == {"4": 77, "6": 168, "8": 203, "10": 56, "12": 7}
        assert "ABCF" in design["words"]
        assert "ACF" in design["aliases"]["B"]
        assert design["clear_interactions"] == []
        assert len(design["matrix"]) == 32

    def test_what_is_exported_can_be_read_and_checked(self, project: Path, capfd: Capture) -> None:
        for form in ("csv", "json"):
            told(capfd, "design", "--factors", "A-E", "--runs", "16", "--format", form, "--output", f"design.{form}")
            read = told(capfd, "design", "--read", f"design.{form}")
            assert "resolution V" in read
        (project / "design.csv").write_text("A,B\n1,2\n")
        assert main(["design", "--read", "design.csv"]) == 2
        assert "design.csv:2:3" in capfd.readouterr().err

    @pytest.mark.parametrize(
        "arguments",
        [
            ("design",),
            ("design", "--factors", "A-N", "--runs", "100"),
            ("design", "--factors", "A-N", "--runs", "32", "--resolution", "4"),
            ("design", "--factors", "A-N", "--generators", "F=XYZ"),
            ("design", "--factors", "N-A"),
            ("design", "--factors", "A-N", "--generators", ""),
            ("design", ".", "--factors", "A-N"),
            ("design", "--read", "nothing.csv"),
        ],
    )
    def test_what_cannot_be_is_2(self, arguments: tuple[str, ...], project: Path, capfd: Capture) -> None:
        assert main(arguments) == 2
        assert "error: " in capfd.readouterr().err


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64, 10**23])
@pytest.mark.parametrize("verb", ["run", "screen", "suite", "validate", "design", "space sample"])
def test_a_seed_is_one_that_the_store_can_hold(verb: str, seed: int, project: Path, capfd: Capture) -> None:
    assert main((*verb.split(), ".", "--seed", str(seed))) == 2
    assert "0<=x<=9223372036854775807" in capfd.readouterr().err


def test_the_largest_seed_is_kept(project: Path, capfd: Capture) -> None:
    told(capfd, "run", ".", "--budget", "1", "--seed", str(2**63 - 1))


class TestRun:
    def test_nothing_is_measured_where_the_result_cannot_be_written(self, project: Path, capfd: Capture) -> None:
        for verb in ("run", "screen", "suite", "validate"):
            assert main((verb, ".", "--output", "nowhere/out.txt")) == 2
            assert "nowhere/out.txt cannot be written: No such file or directory" in capfd.readouterr().err
        assert not Path(".hati").exists()

    def test_measures_the_default_and_given_configurations(self, project: Path, capfd: Capture) -> None:
        words = ("run", ".", "--budget", "6", "--set", "x=1", "--set", "x=2,y=q", "--format", "json")
        summaries = json.loads(told(capfd, *words))["summaries"]
        means = {json.dumps(s["configuration"]): (s["mean"], s["runs"], s["observations"]) for s in summaries}
        assert means == {'{"x": 1}': (1.25, 3, 6), '{"x": 2, "y": "q"}': (2.25, 3, 6)}

    def test_prints_a_table_that_names_units(self, project: Path, capfd: Capture) -> None:
        table = told(capfd, "run", ".", "--budget", "2")
        assert "1.25 ms" in table
        assert "2 runs done, 0 failed" in table

    def test_each_call_measures(self, project: Path, capfd: Capture) -> None:
        for _ in range(2):
            told(capfd, "run", ".", "--budget", "2")
        assert len(held(json.loads(told(capfd, "runs", "--format", "json")))) == 4

    def test_a_dry_run_does_not(self, project: Path, capfd: Capture) -> None:
        assert "3 runs" in told(capfd, "run", ".", "--budget", "3", "--dry-run")
        assert held(json.loads(told(capfd, "runs", "--format", "json"))) == []

    def test_a_dry_run_says_how_many_of_very_many_runs_are_listed(self, project: Path, capfd: Capture) -> None:
        words = ("run", ".", "--budget", "20000", "--dry-run")
        assert "... and 9,900 more; --format json lists the first 10,000" in told(capfd, *words)
        planned = json.loads(told(capfd, *words, "--format", "json"))
        assert len(planned["tasks"]) == 10_000

    @pytest.mark.parametrize("setting", ["x", "x=3", "z=1", "x=1,x"])
    def test_settings_that_are_none(self, setting: str, project: Path, capfd: Capture) -> None:
        assert main(["run", ".", "--set", setting]) == 2


class TestStore:
    def test_runs_are_listed_shown_and_forgotten(self, project: Path, capfd: Capture) -> None:
        told(capfd, "run", ".", "--budget", "3")
        listed = held(json.loads(told(capfd, "runs", "--format", "json")))
        task = listed[0]["task"]
        shown = told(capfd, "runs", "--task", task[:8])
        assert "context switches" in shown
        assert "machine" in shown
        assert told(capfd, "forget", "--task", task) == "1 run forgotten\n"
        assert len(held(json.loads(told(capfd, "runs", "--format", "json")))) == 2
        told(capfd, "forget", status=2)
        for words, said in (
            (("--study", "nope"), "error: there is no study nope; `hati studies` lists them"),
            (("--task", "nope"), "error: there is no such run"),
            (("--benchmark", "nope"), "error: the store has no runs of a benchmark 'nope'; there are: "),
        ):
            assert main(("forget", *words)) == 2
            assert capfd.readouterr().err.startswith(said)
        assert told(capfd, "forget", "--all") == "2 runs forgotten\n"

    def test_samples_hold_every_observation(self, project: Path, capfd: Capture) -> None:
        told(capfd, "run", ".", "--budget", "2")
        samples = json.loads(told(capfd, "export"))
        assert samples["format"] == "hati-samples-1"
        (sample,) = samples["samples"]
        assert sample["configuration"] == {"x": 1}
        assert (sample["unit"], sample["better"]) == ("ms", "lower")
        assert [run["observations"] for run in sample["runs"]] == [[3.0, 1.0, 1.5]] * 2
        assert [run["warmup"] for run in sample["runs"]] == [1, 1]
        assert all(run["cpu_time"] > 0 and run["exit"] == 0 and run["started"].endswith("Z") for run in sample["runs"])

    def test_runs_are_exported_by_their_settings_and_compared(self, project: Path, capfd: Capture) -> None:
        told(capfd, "run", ".", "--budget", "4", "--set", "x=1", "--set", "x=2")
        told(capfd, "export", "--where", "x=1", "--output", "a.json")
        told(capfd, "export", "--where", "x=2, y=p", "--output", "b.json")
        (sample,) = json.loads((project / "b.json").read_text())["samples"]
        assert (sample["configuration"], len(sample["runs"])) == ({"x": 2, "y": "p"}, 2)
        rows = list(csv.DictReader(io.StringIO(told(capfd, "export", "--format", "csv", "--where", "x=2"))))
        assert [row["x"] for row in rows] == ["2", "2"]
        assert main(("compare", "a.json", "b.json", "--fail-on", "none")) == 0
        said = capfd.readouterr()
        assert "b: x=1 before, x=2 y=p after" in said.err
        assert "x=1" not in said.out
        for where, said in (
            ("x=3", "--where: no run has x=3; there are: 1, 2"),
            ("X=1", "--where: no run has an option 'X'; did you mean 'x'?"),
            ("x=1, y=p", "no run has x=1, y=p; there are runs of x=1"),
            ("x", "--where 'x' is not a valid setting"),
        ):
            assert main(("export", "--where", where)) == 2
            assert said in capfd.readouterr().err

    def test_tables_have_a_row_for_each_run(self, project: Path, capfd: Capture) -> None:
        told(capfd, "run", ".", "--budget", "4", "--set", "x=1", "--set", "x=2")
        rows = list(csv.DictReader(io.StringIO(told(capfd, "export", "--format", "csv"))))
        assert sorted((row["x"], row["y"], row["repetition"], row["m"]) for row in rows) == [
            ("1", "", "0", "1.25"),
            ("1", "", "1", "1.25"),
            ("2", "p", "0", "2.25"),
            ("2", "p", "1", "2.25"),
        ]
        told(capfd, "export", "--format", "parquet", "--output", "table.parquet")
        table = pyarrow.parquet.read_table(project / "table.parquet").to_pylist()
        assert sorted(row["m"] for row in table) == [1.25, 1.25, 2.25, 2.25]
        assert {row["y"] for row in table} == {None, "p"}

    def test_benchstat_reads_a_line_for_each_run(self, project: Path, capfd: Capture) -> None:
        told(capfd, "run", ".", "--budget", "2")
        lines = told(capfd, "export", "--format", "benchstat").splitlines()
        assert [line.split() for line in lines if line.startswith("Bench")] == [
            ["Benchmarkb/x=1", "2", "1250000.0", "m-ns"]
        ] * 2
        told(capfd, "export", "--format", "benchstat", "--output", "go.txt")
        assert len(json.loads(told(capfd, "import", "go.txt"))["samples"][0]["runs"]) == 2
        told(capfd, "forget", "--all")
        assert main(("export", "--format", "benchstat")) == 2
        assert "there is no run to export" in capfd.readouterr().err

    def test_another_store(self, project: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        told(capfd, "run", ".", "--budget", "1", "--store", "other.sqlite")
        assert not (project / ".hati" / "store.sqlite").exists()
        monkeypatch.setenv("HATI_STORE", "sqlite:///other.sqlite")
        assert len(held(json.loads(told(capfd, "runs", "--format", "json")))) == 1

    def test_without_a_store_there_is_nothing_to_list(self, project: Path, capfd: Capture) -> None:
        assert main(["runs"]) == 2
        assert "measure something first" in capfd.readouterr().err


class TestInit:
    def test_writes_a_project_that_reads_and_never_overwrites(self, tmp_path: Path, capfd: Capture) -> None:
        told(capfd, "init", str(tmp_path))
        before = (tmp_path / "hati.toml").read_bytes()
        assert main(["space", "count", str(tmp_path)]) == 0
        assert main(["init", str(tmp_path)]) == 2
        assert (tmp_path / "hati.toml").read_bytes() == before
        assert main(["init", str(tmp_path / "new" / "folder")]) == 0
        assert (tmp_path / "new" / "folder" / "hati.toml").is_file()


def test_what_is_ignored_stays_ignored(project: Path) -> None:
    program = str(Path(sys.executable).with_name("hati"))
    script = f"trap '' HUP; {program} run . --budget 3 --format json & sleep 0.1; kill -HUP $!; wait $!"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_says_how_to_go_on(number: signal.Signals, project: Path) -> None:
    text = PROJECT.replace("import json;", "import json, time; time.sleep(0.2);")
    text = text.replace('reader = "hati"', 'reader = "hati"\nprepare = ["true", "{work}"]')
    (project / "hati.toml").write_text(text)
    program = str(Path(sys.executable).with_name("hati"))
    command = [program, "run", ".", "--budget", "200"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heeding_signals)
    store = project / ".hati" / "store.sqlite"
    while not store.exists() or not list((project / ".hati" / "work").glob("[0-9a-f]*")):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "goes on from there" in err
    assert "Traceback" not in err
    assert list((project / ".hati" / "work").glob("[0-9a-f]*")) == []


@pytest.mark.parametrize("verb", ["run", "screen", "audit"])
def test_verbs_that_measure_say_how_to_go_on(
    verb: str, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "make_watched", interrupted)
    assert app.run([verb, str(project)]) == INTERRUPTED
    assert "interrupted: what was recorded is kept; the same command goes on from there" in capfd.readouterr().err


def test_an_interrupted_fresh_campaign_goes_on_without_fresh(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "make_watched", interrupted)
    assert app.run(["screen", str(project), "--fresh"]) == INTERRUPTED
    assert "what was recorded is kept; the same command without --fresh goes on from there" in capfd.readouterr().err


@pytest.mark.parametrize("words", [("audit", "a.csv"), ("compare", "a.csv", "a.csv"), ("history", "a.csv")])
def test_verbs_of_files_have_nothing_to_go_on_with(
    words: tuple[str, ...], project: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    (project / "a.csv").write_text("position,value\n1,1\n")
    for kind in ("audit", "paired", "replay"):
        monkeypatch.setattr(type(own_type(kind)), "read", interrupted)
    assert app.run(words) == INTERRUPTED
    assert capfd.readouterr().err.endswith("interrupted\n")


def test_an_interruption_while_it_loads_is_no_traceback(project: Path) -> None:
    script = "import signal, sys; sys.argv = ['hati', 'space', 'count']; from hati.cli import main; import builtins\n"
    script += "real = builtins.__import__\n"
    script += "def load(name, *rest):\n"
    script += "    if name == 'typer': signal.raise_signal(signal.SIGINT)\n"
    script += "    return real(name, *rest)\n"
    script += "builtins.__import__ = load; sys.exit(main())"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=heeding_signals)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_full_device_is_told(project: Path, capfd: Capture) -> None:
    assert main(["space", "count", "--output", "/dev/full"]) == 4
    assert "No space left" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (None, "error: a file cannot be written: No space left on device; free some space"),
        ("kept/conclusions", "error: kept/conclusions cannot be written: No space left on device ("),
    ],
)
def test_a_full_disk_is_not_taken_for_standard_output(
    file: str | None, said: str, project: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *([file] if file else []))

    monkeypatch.setattr(commands, "make_watched", full)
    assert app.run(["screen", str(project)]) == 4
    assert said in capfd.readouterr().err


@pytest.mark.parametrize("words", [("--version",), ("space", "count"), ("space", "--help")])
def test_full_standard_output_is_reported(words: tuple[str, ...], project: Path) -> None:
    program = str(Path(sys.executable).with_name("hati"))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([program, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "error: standard output cannot be written: No space left on device; free some space there, or use --output\n"
    assert (done.returncode, done.stderr) == (4, said)


@pytest.mark.parametrize("number", [0, 2])
def test_a_closed_stream_is_no_error_and_no_file_takes_its_place(project: Path, number: int) -> None:
    program = str(Path(sys.executable).with_name("hati"))
    words = ["bash", "-c", f'"$0" run --budget 2 {number}>&-', program]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stdout) == (0, False), done.stderr
    assert len(open_store(str(project / ".hati" / "store.sqlite")).runs(Selection())) == 2


def test_nobody_reading_on_is_no_error(project: Path) -> None:
    program = str(Path(sys.executable).with_name("hati"))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([program, "space", "list"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [(), ("space",), ("harness",)])
def test_the_program_and_groups_of_verbs_alone_print_their_help(capfd: Capture, words: tuple[str, ...]) -> None:
    assert main(words) == 0
    shown = capfd.readouterr()
    assert shown.err == ""
    assert main((*words, "--help")) == 0
    assert shown.out == capfd.readouterr().out


def test_the_module_is_the_program() -> None:
    done = subprocess.run([sys.executable, "-m", "hati", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hati ")


def test_the_reference_is_up_to_date() -> None:
    script = ROOT / "scripts" / "cli_reference.py"
    made = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "reference" / "cli.md").read_text() == made


def test_importing_loads_nothing_heavy() -> None:
    heavy = ("altair", "ortools", "scipy", "numpy", "sqlalchemy")
    script = f"import hati, hati.cli.app, sys; print(*[n for n in {heavy} if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "\n"


def test_a_verb_loads_no_other_kind_of_study() -> None:
    script = "import sys\nfrom hati.cli import main\nmain(['run', '--help'])\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    kinds = {name for name in loaded.splitlines()[-1].split() if name.startswith("hati.wiring.kinds.")}
    assert kinds == {"hati.wiring.kinds.measurement"}


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        (["run", "--budget", "1"], {"scipy", "numpy.random"}),
        (["assert", "--formula", "b <= 9", "--budget", "13"], set[str]()),
    ],
)
def test_measuring_loads_nothing_that_it_does_not_need(tmp_path: Path, words: list[str], unneeded: set[str]) -> None:
    command = (
        'command = ["echo", "t: 1"]\nreader = "regex"\nmetric = [{ name = "t", unit = "1", pattern = "t: (.)" }]\n'
    )
    (tmp_path / "hati.toml").write_text(f'[subject]\nname = "s"\n[[benchmark]]\nname = "b"\n{command}')
    script = f"import sys\nfrom hati.cli import main\nmain({words})\nprint('\\n', *sys.modules)"
    environment = {**os.environ, "HATI_LOCK": str(tmp_path / "lock")}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert f"{words[-1]} run" in done.stdout
    assert "hati.studies.screening.planning" not in done.stdout.split()
    assert "hati.wiring.known.screenings" not in done.stdout.split()
    assert {"hati.design.suite", "hati.subject.table.measured"}.isdisjoint(done.stdout.split())
    assert {"hati.wiring.probes.experiments", "hati.driver.agent"}.isdisjoint(done.stdout.split())
    assert {"hati.wiring.known.benchmarks", *unneeded}.isdisjoint(done.stdout.split())


def test_a_json_report_loads_no_format_for_people(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"results": [{"command": "b", "times": [1.0, 1.1, 1.2]}]}')
    words = ["assert", "--formula", "b <= b", "--samples", "b=a.json", "--format", "json", "--output", "out.json"]
    script = f"import sys\nfrom hati.cli import main\nmain({words})\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert (tmp_path / "out.json").is_file()
    assert {"hati.render.renderers", "hati.render.terminal", "xml.etree.ElementTree"}.isdisjoint(loaded)


def test_comparing_files_loads_no_store_and_no_screening(tmp_path: Path) -> None:
    times = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7]
    (tmp_path / "a.json").write_text(json.dumps({"results": [{"command": "b", "times": times}]}))
    script = "import sys\nfrom hati.cli import main\nmain(['compare', 'a.json', 'a.json'])\nprint('\\n', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "99 % interval" in done.stdout
    unneeded = {"sqlalchemy", "hati.store.sql", "hati.project.project", "hati.studies.screening", "hati.space"}
    assert unneeded.isdisjoint(done.stdout.split())


def test_a_command_leaves_one_file_of_its_store(tmp_path: Path) -> None:
    (tmp_path / "hati.toml").write_text(
        '[subject]\nname = "s"\n[[benchmark]]\nname = "b"\ncommand = ["true"]\nreader = "process"\n'
    )
    environment = {**os.environ, "HATI_LOCK": str(tmp_path / "lock")}
    for words in (["run", "--budget", "1"], ["runs"]):
        command = [sys.executable, "-m", "hati", *words]
        subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
        assert [file.name for file in (tmp_path / ".hati").glob("store.*")] == ["store.sqlite"]


def test_a_program_does_not_search_its_modules_for_garbage_as_it_ends() -> None:
    script = "import gc, sys\nfrom hati.cli import main\n{}\nmain({})\nprint(gc.get_freeze_count() > 0)"
    scripts = (script.format("sys.argv[1:] = ['--version']", ""), script.format("", "['--version']"))
    made = [
        subprocess.run([sys.executable, "-c", each], capture_output=True, text=True, check=True) for each in scripts
    ]
    assert [done.stdout.splitlines()[-1] for done in made] == ["True", "False"]
