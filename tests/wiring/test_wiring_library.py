"""What the command line does, from Python."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import hati
from hati.core import InputError, MeasurementError, NotInstalledError

PROJECT = """
[[benchmark]]
name = "main"
command = ["sh", "-c", "echo size: $(({size} * 100 + {repetition}))"]
reader = "regex"
metric = [{ name = "size", unit = "1", pattern = "size: ([0-9]+)" }]

[options.size]
settings = [1, 2]

[options.other]
settings = ["a", "b"]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))
    (tmp_path / "hati.toml").write_text(PROJECT)
    return tmp_path


def samples(folder: Path, name: str, *values: float) -> str:
    rows = "".join(f"sort,time,s,{run},{value}\n" for run, value in enumerate(values))
    (folder / name).write_text(f"benchmark,metric,unit,run,value\n{rows}")
    return str(folder / name)


def test_a_study_is_made_and_not_measured_twice(project: Path) -> None:
    told: list[str] = []
    opened = hati.open(project, announce=told.append)
    made = opened.compare("main", "main", set_after="size=2", budget=str(16), alpha="2%")
    assert made.conclusion.comparisons.alpha == 0.02
    assert "slower" in str(made)
    assert made.status == 1
    assert "<iframe" in made._repr_html_()
    json.dumps(made.values)
    again = opened.compare("main", "main", set_after="size=2", budget=str(16), alpha="2%")
    assert again.values == made.values
    assert opened.report(opened.studies()[-1]).values == made.values
    assert any("pairs of" in each for each in told)
    assert any("was measured before" in each for each in told)


def test_a_screening_finds_the_option(project: Path) -> None:
    found = hati.open(project).screen(budget="8")
    assert [each.options for each in found.conclusion.effects if each.shown] == [("size",)]
    assert found.values["metric"] == "size"
    opened = hati.open(project)
    [key] = opened.studies()
    assert opened.report(key).values["effects"] == found.values["effects"]


def test_a_screening_has_all_flags_of_its_command(project: Path) -> None:
    found = hati.screen(project, runs=4, budget="8", alpha="10%", detect=None)
    assert (found.conclusion.alpha, found.conclusion.done) == (0.1, 8)
    with pytest.raises(InputError, match="--keep is a rule for recommendations"):
        hati.open(project).screen(keep=["size <= 2 * default"])
    recommended = hati.open(project).screen(budget="40", recommend=True)
    assert recommended.values["recommendation"]["metric"] == "size"


def test_formulas_are_decided_by_samples_or_by_measuring(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [1.0 + n % 3 / 100 for n in range(8)]
    faster, slower = samples(project, "a.csv", *times), samples(project, "b.csv", *(2 * each for each in times))
    told: list[str] = []
    decided = hati.assert_("a <= b", samples=[f"a={faster},b={slower},c={slower}"], announce=told.append)
    assert [each.verdict for each in decided.conclusion.answers] == ["HOLDS"]
    assert (decided.status, told) == (0, ["no formula is about c of --samples"])
    assert "HOLDS" in decided._repr_html_()
    with pytest.raises(InputError, match="--budget is not for --samples"):
        hati.assert_("a <= b", samples=[f"a={faster},b={slower}"], budget="4")
    measured = hati.open(project).assert_("size of main < 1000", budget="30")
    assert (measured.status, measured.values["formulas"][0]["verdict"]) == (0, "HOLDS")
    (project / "f.spl").write_text("size of main > 1000\n")
    assert hati.assert_(paths=[project / "f.spl"]).status == 1
    monkeypatch.chdir(project)
    assert hati.assert_(paths=["f.spl"]).status == 1


def test_samples_and_projects_are_audited_and_checked(project: Path) -> None:
    file = samples(project, "a.csv", *(1.0 + n % 7 / 100 for n in range(16)))
    for found in (hati.audit(file, splits=4), hati.audit(project, splits=4, budget="16")):
        assert (found.conclusion.splits, found.status) == (4, 0)
    with pytest.raises(InputError, match="repository"):
        hati.check(project)


def test_files_are_compared_and_a_series_is_read(tmp_path: Path) -> None:
    before, after = samples(tmp_path, "a.csv", 1.0, 1.1, 1.05), samples(tmp_path, "b.csv", 2.0, 2.1, 2.05)
    for one in (hati.compare(before, after), hati.compare([before], [after], margin=0.05)):
        assert one.conclusion.rows[0].change.verdict == "slower"
        assert "sort" in one.document.answer
        assert one.status == 1
    told: list[str] = []
    assert hati.compare(before, before, announce=told.append, margin="90%", fail_on="none").status == 0
    assert any("both sides are the same files" in each for each in told)
    series = tmp_path / "s.csv"
    series.write_text("position,value\n" + "".join(f"{n},{1 + (n > 20)}.{n % 3}\n" for n in range(40)))
    assert len(hati.history(series).conclusion[0].change_points) == 1


def test_what_cannot_be_asked_is_told(project: Path) -> None:
    opened = hati.open(project)
    for asked, message in (
        ({"bugdet": "4"}, "run has no parameter 'bugdet'; did you mean 'budget'?"),
        ({"seed": 2**70}, "seed is"),
        ({"seed": -1}, "seed is -1; give 0 to"),
        ({"seed": "one"}, "run: seed='one' is not a valid value; `hati run --help` says what --seed takes"),
        ({"benchmark": "other"}, "'other'"),
    ):
        with pytest.raises(InputError) as wrong:
            opened.run(**asked)
        assert message in str(wrong.value)
    series = project / "s.csv"
    series.write_text("position,value\n1,1\n2,1\n")
    for wrong_level in (0, 7, "7", "x"):
        with pytest.raises(InputError):
            hati.history(series, alpha=wrong_level)
    with pytest.raises(InputError, match="compare: interval='bootstrapp' is not a valid value"):
        hati.compare(series, series, interval="bootstrapp")
    with pytest.raises(InputError, match="there is no study 'runn'"):
        opened.study("runn")
    with pytest.raises(InputError, match="there is no such file"):
        hati.open(project / "nowhere").run()
    (project / "hati.toml").write_text(PROJECT.replace("echo size", "false; echo sise"))
    with pytest.raises(MeasurementError):
        opened.run(budget="2")


def test_what_a_command_refuses_is_refused_before_anything_is_measured(project: Path) -> None:
    opened = hati.open(project)
    with pytest.raises(InputError, match="--tests is for"):
        opened.compare("main", "main", set_after="size=2", budget="16", tests=True)
    assert not (project / ".hati").exists()
    with pytest.raises(InputError, match="--set is"):
        hati.history(samples(project, "a.csv", 1, 2, 3), template=["size=1"])
    files = samples(project, "b.csv", 1, 2, 3), samples(project, "c.csv", 1, 2, 3)
    with pytest.raises(InputError, match="--fresh"):
        hati.compare(*files, fresh=True)


def test_a_single_value_is_one_of_several(project: Path) -> None:
    assert hati.open(project).run(template="size=2", budget=2).values["runs"]["done"] == 2
    assert hati.open(project).screen(budget=8).conclusion.done == 8
    with pytest.raises(InputError, match="'5' is not"):
        hati.open(project).screen(budget=8, alpha=5)


def test_a_table_is_a_data_frame_where_there_is_a_library(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = hati.open(project).run(budget="2")
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(NotInstalledError, match="pandas or polars"):
        made.to_dataframe()
    with pytest.raises(InputError, match="there is no table 7"):
        made.to_dataframe(7)
    with pytest.raises(InputError, match="there is no table 'Effects'"):
        made.to_dataframe("Effects")

    class Frames:
        DataFrame = staticmethod(list)

    monkeypatch.setitem(sys.modules, "polars", Frames)
    assert made.to_dataframe()[0]["metric"] == "size"
    assert made.to_dataframe(made.document.tables[0].title) == made.to_dataframe()
