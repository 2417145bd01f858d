"""Tables of measurements from outside: screening them, making a space of them, and what is said of wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hati.core import Evidence
from hati.studies.screening.model_study import ModelScreening

Hati = Callable[..., Any]

NAMES = "abcdef"


@pytest.fixture
def hati(hati_here: Hati) -> Hati:
    """The program's function: a process for each command would take longer than its work."""
    return hati_here


def value(settings: tuple[int, ...]) -> float:
    """The subject of the tests: a and b matter, and what looks like noise is a function of the settings."""
    noise = sum(s * (7 * i + 3) ** 2 for i, s in enumerate(settings)) % 97 / 97 - 0.5
    return 0.010 * (1.5 if settings[0] else 1.0) * (0.8 if settings[1] else 1.0) * (1 + 0.004 * noise)


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A table of all configurations of six options in two revisions, without a space."""
    rows = [
        f"{','.join(map(str, row))},{revision},{value(row) * factor!r},{100 / value(row)!r}\n"
        for revision, factor in (("1.0", 1.0), ("2.0", 3.0))
        for row in product((0, 1), repeat=len(NAMES))
    ]
    (tmp_path / "t.csv").write_text(f"{','.join(NAMES)},revision,latency,throughput\n" + "".join(rows))
    return tmp_path


@pytest.fixture
def spaced(hati: Hati, measured: Path) -> Path:
    """The same with its space."""
    done = hati("space", "import", "t.csv", "--output", "hati.toml")
    assert done.status == 0, done.err
    return measured


SCREEN = ("screen", "t.csv", "--space", "hati.toml", "--budget", "32", "--metric", "latency")
FIRST = (*SCREEN, "--where", "revision=1.0")


def test_a_table_is_screened_like_a_project(hati: Hati, spaced: Path) -> None:
    done = hati(*FIRST, "--unit", "s", "--seed", "1", "--format", "json")
    assert done.status == 0, done.err
    told = done.json
    assert told["space"] == {"options": 6, "configurations": 64}
    assert (told["subject"], told["benchmark"], told["revision"]) == ("t", "table", "1.0")
    assert (told["metric"], told["unit"], told["better"]) == ("latency", "s", "lower")
    assert told["runs"]["all"] == {"done": 32, "failed": 0}
    assert set(told["important"]) == {"a", "b"}
    effects = {tuple(effect["options"]): effect for effect in told["effects"]}
    assert effects["a",]["relative"] == pytest.approx(0.5, rel=0.02)
    assert "t.csv: 64 rows of 64 configurations; latency in unit s, lower is better" in done.err
    assert hati(*FIRST, "--unit", "s", "--seed", "1", "--format", "json").json == told


def test_a_screening_is_concluded_once(hati: Hati, spaced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    concluded = []

    def conclude(self: ModelScreening, evidence: Evidence, original: Any = ModelScreening.conclude) -> Any:
        concluded.append(len(evidence.runs))
        return original(self, evidence)

    monkeypatch.setattr(ModelScreening, "conclude", conclude)
    assert hati(*FIRST, "--seed", "1", "--format", "json").status == 0
    assert concluded == [32]


def test_rows_metric_and_direction_are_chosen(hati: Hati, spaced: Path) -> None:
    common = (*SCREEN[:-1], "throughput", "--format", "json", "--better", "higher", "--where", "revision=2.0")
    told = hati(*common).json
    assert (told["metric"], told["unit"], told["better"], told["revision"]) == ("throughput", "1", "higher", "2.0")


def test_rows_of_one_setting_of_an_option_are_for_a_space_without_it(hati: Hati, spaced: Path) -> None:
    half = hati(*FIRST, "--where", "f=0", "--format", "json")
    assert half.status == 2
    assert "--where f=0 leaves no row with f=true" in half.err
    assert "leave the option 'f' out of" in half.err
    project = (spaced / "hati.toml").read_text()
    (spaced / "hati.toml").write_text(project[: project.index("[options.f]")])
    assert hati(*FIRST, "--where", "f=0", "--format", "json").json["runs"]["all"] == {"done": 32, "failed": 0}
    (spaced / "hati.toml").write_text(f"{project}\n[space]\nconstraints = ['not f']\n")
    assert hati(*FIRST, "--where", "f=0", "--format", "json").json["runs"]["all"] == {"done": 32, "failed": 0}


def test_rows_that_are_missing_are_one_reason_and_the_advice_is_for_tables(hati: Hati, spaced: Path) -> None:
    rows = (spaced / "t.csv").read_text().splitlines(keepends=True)
    (spaced / "t.csv").write_text("".join(row for row in rows if not row.startswith(("1,0", "0,1"))))
    told = hati(*FIRST, "--format", "json").json
    assert told["runs"]["all"] == {"done": 16, "failed": 16}
    (reason,) = told["failures"]
    assert reason.startswith("the table has no row of a=")
    assert reason.endswith("(and so of 15 other configurations)")
    warnings = " ".join(told["warnings"])
    assert "hati runs" not in warnings
    assert "repeats every configuration" not in warnings
    assert "the planned runs" not in warnings
    assert "see `hati runs --store`" in hati(*FIRST, "--store", "s.sqlite", "--format", "json").out


def test_the_budget_that_repeats_is_true(hati: Hati, spaced: Path) -> None:
    noisy = ("--deviation", "1%", "--format", "json")
    assert "a budget of 128 runs and more repeats every configuration" in hati(*FIRST, *noisy, "--budget", "64").out
    for runs, repetitions in (("32", 1), ("127", 1), ("128", 2)):
        assert hati(*FIRST, *noisy, "--budget", runs).json["design"]["repetitions"] == repetitions


def test_noise_is_drawn_and_is_the_same_for_the_same_seed(hati: Hati, spaced: Path) -> None:
    first, again, other = (
        hati(*FIRST, "--deviation", "1%", "--seed", seed, "--format", "json").json for seed in ("1", "1", "2")
    )
    assert first == again
    assert first["effects"] != other["effects"]
    assert first["design"]["repetitions"] == 1
    assert {"a", "b"} <= set(first["important"])


def test_the_result_goes_where_it_is_told(hati: Hati, spaced: Path) -> None:
    done = hati(*FIRST)
    assert done.status == 0, done.err
    report = spaced / next(line for line in done.err.splitlines() if line.startswith("report: "))[8:]
    assert "<html" in report.read_text()
    assert hati(*FIRST, "--format", "markdown", "--output", "out.md").out == ""
    assert (spaced / "out.md").read_text().startswith("#")
    planned = hati(*FIRST, "--dry-run", "--format", "json").json["tasks"]
    assert len(planned) == 32
    assert not (spaced / ".hati" / "store.sqlite").exists()
    assert hati(*FIRST, "--store", "s.sqlite", "--format", "json").status == 0
    kept = hati("runs", ".", "--store", "s.sqlite", "--format", "json").json
    assert {row["task"] for row in kept} == {row["task"] for row in planned}
    again = hati(*FIRST, "--store", "s.sqlite", "--format", "json")
    assert "was measured before" in again.err
    reported = hati("report", ".", "--store", "s.sqlite", "--metric", "latency", "--format", "json")
    assert reported.json == again.json
    stored = ("--store", "s.sqlite", "--format", "json")
    validated = hati("validate", *FIRST[1:4], *FIRST[-4:], "--budget", "16", *stored)
    assert validated.status == 0, validated.err
    reported = hati("report", ".", "--metric", "latency", *stored)
    assert reported.json["validation"] == validated.json


def test_a_value_that_is_written_as_asked_is_preferred(hati: Hati, spaced: Path) -> None:
    """2.1 and 2.10 are one number and two releases."""
    text = (spaced / "t.csv").read_text()
    (spaced / "t.csv").write_text(text.replace(",1.0,", ",2.1,").replace(",2.0,", ",2.10,"))
    found = {
        wanted: hati(*SCREEN, "--where", f"revision={wanted}", "--format", "json").json for wanted in ("2.1", "2.10")
    }
    assert [told["revision"] for told in found.values()] == ["2.1", "2.10"]
    typical = [told["effects"][0]["estimate"] for told in found.values()]
    assert typical[1] == pytest.approx(3 * typical[0], rel=1e-6) or found["2.1"] != found["2.10"]


@pytest.mark.parametrize(("off", "on"), [("False", "True"), ("FALSE", "TRUE"), ("false", "true")])
def test_truth_values_are_written_in_several_ways(hati: Hati, spaced: Path, off: str, on: str) -> None:
    plain = hati(*FIRST, "--format", "json").json
    rows = [line.split(",") for line in (spaced / "t.csv").read_text().splitlines()]
    words = [rows[0], *([{"0": off, "1": on}[cell] for cell in row[:6]] + row[6:] for row in rows[1:])]
    (spaced / "t.csv").write_text("\n".join(",".join(row) for row in words) + "\n")
    done = hati(*FIRST, "--format", "json")
    assert done.status == 0, done.err
    assert done.json["important"] == plain["important"]
    assert done.json["runs"]["all"] == {"done": 32, "failed": 0}


def test_a_validation_that_measures_nothing_has_failed(hati: Hati, spaced: Path) -> None:
    planned = hati(*FIRST, "--dry-run", "--format", "json").json["tasks"]
    wanted = {tuple(str(int(task[name])) for name in NAMES) for task in planned}
    lines = (spaced / "t.csv").read_text().splitlines()
    kept = [line for line in lines[1:] if tuple(line.split(",")[:6]) in wanted]
    (spaced / "t.csv").write_text("\n".join([lines[0], *kept]))
    subject = (*FIRST[1:4], *FIRST[-4:], "--store", "s.sqlite")
    assert hati(*FIRST, "--store", "s.sqlite").status == 0
    done = hati("validate", *subject, "--mode", "confirm", "--format", "json")
    assert done.status == 4, done.err
    assert "nothing was measured" in done.err


def test_a_heading_names_the_metric_for_every_verb(hati: Hati, spaced: Path) -> None:
    text = (spaced / "t.csv").read_text()
    (spaced / "t.csv").write_text(text.replace("latency", "latency (ms)", 1))
    subject = (*FIRST[1:4], "--metric", "latency (ms)", *FIRST[-2:], "--store", "s.sqlite")
    for verb in ("screen", "validate", "suite"):
        done = hati(verb, *subject, "--budget", "32", "--format", "json")
        assert done.status == 0, done.err


def test_how_many_runs_of_a_table_has_to_be_said(hati: Hati, spaced: Path) -> None:
    done = hati("screen", *FIRST[1:4], *FIRST[-4:])
    assert done.status == 2
    assert "nothing says how many runs" in done.err
    assert "2m" not in done.err


def test_a_suite_is_compared_in_its_own_unit(hati: Hati, spaced: Path) -> None:
    rows = (spaced / "t.csv").read_text().splitlines()
    place = rows[0].split(",").index("latency")
    for name, unit, factor in (("us.csv", "us", 1e6), ("ms.csv", "ms", 1e3), ("plain.csv", "", 1e6)):
        cells = [row.split(",") for row in rows[1:]]
        heading = rows[0].replace("latency", f"latency ({unit})") if unit else rows[0]
        scaled = [[*r[:place], repr(float(r[place]) * factor), *r[place + 1 :]] for r in cells]
        (spaced / name).write_text("\n".join([heading, *map(",".join, scaled)]))
    suite = ("suite", "us.csv", *FIRST[2:4], "--metric", "latency", *FIRST[-2:], "--options", "a,b", "--format", "json")
    found = [hati(*suite, "--against", other).json["against"] for other in ("ms.csv", "us.csv", "plain.csv")]
    assert [one["mean"] for one in found] == [pytest.approx(found[0]["mean"])] * 3
    assert [one["ks"] for one in found] == [found[0]["ks"]] * 3
    assert all(one["equivalent"] for one in found)


def test_numbers_too_large_to_compute_with_are_refused(hati: Hati, spaced: Path) -> None:
    lines = (spaced / "t.csv").read_text().splitlines()
    lines[3] = lines[3].rsplit(",", 2)[0] + ",1e200,1"
    (spaced / "t.csv").write_text("\n".join(lines))
    done = hati(*FIRST)
    assert done.status == 2
    assert "t.csv:4:" in done.err
    assert "too large to compute with" in done.err


def test_a_report_that_cannot_be_written_is_no_failure(hati: Hati, spaced: Path) -> None:
    (spaced / ".hati").write_text("in the way")
    done = hati(*FIRST)
    assert done.status == 0
    assert "no report: " in done.err
    assert "Effects on latency" in done.out


def test_what_cannot_be_done_is_said_before_a_run_is_looked_up(hati: Hati, spaced: Path) -> None:
    blind = hati(*FIRST, "--detect", "3%", "--store", "s.sqlite")
    assert blind.status == 2
    assert "no configuration has two runs; give the table's noise by --deviation" in blind.err
    assert "pilot" not in blind.err
    for verb in ("screen", "suite"):
        lost = hati(verb, *FIRST[1:], "--store", "s.sqlite", "--output", "nowhere/out.txt")
        assert lost.status == 2
        assert "nowhere/out.txt cannot be written: No such file or directory; name another file" in lost.err
    assert hati(*FIRST, "--output", ".").err.count("cannot be written: Is a directory") == 1
    assert hati("runs", ".", "--store", "s.sqlite", "--format", "json").json == []


def test_what_a_project_exports_is_a_table_of_it(hati: Hati, fake_project: Path) -> None:
    told = hati("screen", ".", "--metric", "latency", "--budget", "64", "--format", "json").json
    assert hati("export", ".", "--format", "csv", "--output", "t.csv").status == 0
    done = hati("screen", "t.csv", "--space", ".", "--metric", "latency", "--budget", "64", "--format", "json")
    assert done.status == 0, done.err
    again = done.json
    assert (again["unit"], again["runs"], again["revision"]) == ("s", told["runs"], told["revision"])
    assert set(again["important"]) == set(told["important"]) == {"a", "b"}


def test_a_space_is_made_of_the_columns(hati: Hati, measured: Path) -> None:
    done = hati("space", "import", "t.csv", "--metric", "latency", "--metric", "throughput")
    assert done.status == 0
    assert done.out.startswith('[subject]\nname = "t"\n\n[options.a]\nsettings = [false, true]\n')
    assert done.err.splitlines() == [
        "no option: revision (it says where a row comes from)",
        "no option: latency (a metric)",
        "no option: throughput (a metric)",
    ]
    (measured / "t.csv").write_text("a,b,m\n0,x,1.5\n1,x,2.5\n1,y,3.5\n")
    partial = hati("space", "import", "t.csv", "--metric", "m")
    assert "the table has 3 of 4 configurations; if others are not valid, write under [space] why" in partial.err


def test_a_table_that_may_be_cut_off_is_told_wherever_it_is_read(hati: Hati, spaced: Path) -> None:
    whole = (spaced / "t.csv").read_text()
    (spaced / "noise.csv").write_text(whole)
    (spaced / "cut.csv").write_text(whole[:-3])
    deviating = (*FIRST, "--deviation", "noise.csv")
    warning = f"warning: cut.csv:{len(whole.splitlines())}: this last line has no line end"
    for command, read in ((FIRST, "t.csv"), (deviating, "noise.csv"), (("space", "import", "t.csv"), "t.csv")):
        assert "no line end" not in hati(*command, "--output", "out.txt").err
        cut = " ".join(command).replace(read, "cut.csv").split(" ")
        assert warning in hati(*cut, "--output", "out.txt").err


FEATURE = """<configurationOption><name>{name}</name><parent>{parent}</parent><impliedOptions/>
<excludedOptions>{excluded}</excludedOptions><optional>{optional}</optional></configurationOption>"""


@pytest.fixture
def spl(tmp_path: Path) -> Path:
    """A feature model of SPL Conqueror with alternatives and a numeric option, and all configurations measured."""
    features = [
        ("root", "", "", False),
        ("crypto", "root", "", True),
        ("page", "root", "", False),
        ("PS1K", "page", "<options>PS4K</options>", False),
        ("PS4K", "page", "<options>PS1K</options>", False),
    ]
    options = "".join(FEATURE.format(name=n, parent=p, excluded=e, optional=o) for n, p, e, o in features)
    numeric = (
        "<configurationOption><name>threads</name><parent>root</parent><values>1;2;4</values></configurationOption>"
    )
    (tmp_path / "FeatureModel.xml").write_text(
        f"<vm name='db'><binaryOptions>{options}</binaryOptions><numericOptions>{numeric}</numericOptions></vm>"
    )
    rows = "".join(
        f"<row><data columname='Configuration'>root,{crypto}page,{page},</data>"
        f"<data columname='NumericOptions'>threads;{threads},</data>"
        f"<data columname='Performance'>{10.0 + 3.0 * bool(crypto) - threads + 0.01 * (len(page) + threads % 3)}</data>"
        f"<data columname='Memory'>{5 + threads}</data></row>"
        for crypto in ("", "crypto,")
        for page in ("PS1K", "PS4K")
        for threads in (1, 2, 4)
    )
    (tmp_path / "measurements.xml").write_text(f"<results>{rows}</results>")
    return tmp_path


def test_measurements_of_spl_conqueror_are_a_table_of_their_feature_model(hati: Hati, spl: Path) -> None:
    assert hati("space", "import", "FeatureModel.xml", "--output", "hati.toml").status == 0
    words = ("screen", "measurements.xml", "--space", ".", "--budget", "12")
    done = hati(*words, "--metric", "Performance", "--format", "json")
    assert done.status == 0, done.err
    assert "measurements.xml: 12 rows of 12 configurations" in done.err
    effects = {
        effect["options"][0]: effect["verdict"] for effect in done.json["effects"] if len(effect["options"]) == 1
    }
    assert (effects["crypto"], effects["threads"]) == ("important", "important")
    unnamed = hati(*words)
    assert "say which by --metric: Performance, Memory" in unnamed.err


def test_a_space_is_made_of_the_features_of_measurements(hati: Hati, spl: Path) -> None:
    done = hati("space", "import", "measurements.xml", "--metric", "Performance", "--metric", "Memory")
    assert done.status == 0, done.err
    assert "[options.threads]\nsettings = [1, 2, 4]" in done.out
    assert "no option: root (always '1')" in done.err
    model = hati("screen", "FeatureModel.xml", "--space", ".", "--budget", "12")
    assert (model.status, model.out) == (2, "")
    assert "Traceback" not in model.err


ERRORS = [
    (FIRST[:2], 2, "t.csv is a table, and nothing says what its options are; name their hati.toml by --space; make"),
    ((*FIRST, "--budget", "2m"), 2, "a budget of 2m says nothing for a table: looking runs up takes no time; give a"),
    (SCREEN, 2, "t.csv:66:13: the rows are of 2 values of revision: 1.0, 2.0; choose one, as in --where revision=1.0"),
    ((*FIRST[:-1], "revision=1.1"), 2, "t.csv:1:13: no row has revision=1.1; its values are: 1.0, 2.0"),
    ((*FIRST[:-1], "1.0"), 2, "'1.0' selects no rows; write a column and its value, as in revision=2.1.0"),
    ((*FIRST, "--metric", "latenci"), 2, "t.csv:1:1: there is no column 'latenci' for --metric; did you mean 'late"),
    ((*FIRST, "--better", "faster"), 2, "Invalid value for '--better': 'faster' is not one of 'lower', 'higher'"),
    (("screen", "none.csv", *SCREEN[2:]), 2, "none.csv: there is no such file"),
    (("screen", ".", *SCREEN[2:]), 2, ". is a folder, and --space is for a table; name the table"),
    (("screen", ".", "--where", "a=1"), 2, "--where is for a table, and . is none; name a CSV or Parquet file, or"),
    ((*FIRST, "--where", "a=0", "--where", "latency=0.01"), 2, "t.csv:1:22: no row has latency=0.01"),
    (("space", "import", "t.csv", "--metric", "m"), 2, "t.csv:1:1: there is no column 'm' for --metric"),
    (("space", "import", "hati.toml", "--metric", "m"), 2, "--metric is for a table, and hati.toml is none"),
]


@pytest.mark.parametrize(("command", "status", "message"), ERRORS)
def test_errors_say_what_is_wrong_and_what_to_do(
    hati: Hati, spaced: Path, command: tuple[str, ...], status: int, message: str
) -> None:
    done = hati(*command)
    assert (done.status, done.out) == (status, "")
    assert done.err.startswith(f"error: {message}")
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) <= 3


def test_a_table_without_any_of_the_configurations_measures_nothing(hati: Hati, spaced: Path) -> None:
    file = spaced / "hati.toml"
    file.write_text(file.read_text() + "\n[options.g]\nsettings = [1, 2]\n")
    text = (spaced / "t.csv").read_text().splitlines()
    (spaced / "t.csv").write_text("\n".join([text[0] + ",g", text[1] + ",1"]))
    done = hati(*FIRST)
    assert done.status == 4
    assert "nothing was measured: all runs failed, most often because: the table has no row of a=" in done.err
