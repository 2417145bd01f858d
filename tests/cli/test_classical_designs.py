"""``hati design`` beyond regular fractions: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hati.cli import main

PROJECT = """
[subject]
name = "true"

[[benchmark]]
name = "nothing"
command = ["true"]
reader = "process"

[options.cache]
settings = ["lru", "lfu", "none"]

[options.threads]
settings = [1, 2, 4]

[options.sync]
settings = ["off", "on"]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "hati.toml").write_text(PROJECT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def told(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["design", *words]) == 0
    return capfd.readouterr().out


def test_plackett_burman(capfd: pytest.CaptureFixture[str]) -> None:
    text = told(capfd, "--factors", "A-K", "--plackett-burman")
    assert "Design: Plackett-Burman" in text
    assert "11 factors in 12 runs; resolution III." in text
    assert "A3 = 18.33, A4 = 36.67" in text
    assert "aliased in part with two-factor interactions, by at most 0.33" in text
    design = json.loads(told(capfd, "--factors", "A-G", "--plackett-burman", "--runs", "20", "--format", "json"))
    assert (design["kind"], design["runs"]) == ("Plackett-Burman", 20)


def test_foldover_and_semifold_say_what_they_separate(capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--factors", "A-G", "--runs", "8", "--foldover")
    text = " ".join(told(capfd, *words, "all").split())
    assert "The 8 added runs separate 7 effects: A, B, C, D, E, F, G." in text
    one = json.loads(told(capfd, *words, "A", "--format", "json"))
    assert (one["kind"], one["runs"]) == ("foldover", 16)
    assert ["A"] in one["separation"]["separated"]
    half = json.loads(told(capfd, "--factors", "A-H", "--runs", "16", "--semifold", "A", "--format", "json"))
    assert (half["kind"], half["runs"]) == ("semi-foldover", 24)
    assert half["separation"]["separated"] == [["A", other] for other in "BCDEFGH"]
    assert (half["separation"]["before"]["parameters"], half["separation"]["after"]["parameters"]) == (16, 23)
    both = ("--factors", "A-H", "--runs", "16", "--semifold", "A", "--foldover", "B,C", "--format", "json")
    other = json.loads(told(capfd, *both))
    assert all(row[0] == 1 for row in other["matrix"][16:])


@pytest.mark.parametrize(
    "words", [("--factors", "A-D", "--blocks", "3"), ("--factors", "A-K", "--plackett-burman", "--blocks", "2")]
)
def test_designs_that_no_words_divide_have_balanced_blocks(
    capfd: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    text = " ".join(told(capfd, *words).split())
    assert f"{words[-1]} balanced blocks of" in text
    assert "Blocks explain at most" in text
    blocks = json.loads(told(capfd, *words, "--format", "json"))["blocks"]
    assert (blocks["generators"], blocks["confounded"]) == ([], [])
    assert 0.0 < blocks["explained"][0] < 0.5


def test_replicates_and_blocks(capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--factors", "A-D", "--blocks", "2", "--replicates", "2")
    text = " ".join(told(capfd, *words).split())
    assert "2 blocks of 16 runs, by ABCD." in text
    assert "Blocks hide no main effect, no interaction of two factors, none of three." in text
    lines = told(capfd, *words, "--format", "csv").splitlines()
    assert lines[0] == "block,A,B,C,D"
    assert len(lines) == 33
    blocks = json.loads(told(capfd, *words, "--format", "json"))["blocks"]
    assert (blocks["number"], blocks["generators"]) == (2, ["ABCD"])
    assert [int(line.split(",")[0]) for line in lines[1:]] == blocks["of_runs"]


def test_a_large_foldover_is_told_of_its_main_effects(capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--factors", "x1-x79", "--plackett-burman", "--foldover", "x1", "--alias-order", "1", "--format", "json")
    assert json.loads(told(capfd, *words))["separation"]["order"] == 1


def test_a_design_that_is_read_can_be_folded(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "d.csv").write_text("A,B,C\n-1,-1,1\n1,-1,-1\n-1,1,-1\n1,1,1\n")
    assert json.loads(told(capfd, "--read", "d.csv", "--foldover", "all", "--format", "json"))["resolution"] is None


def test_orthogonal_arrays(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = " ".join(told(capfd, ".", "--orthogonal-array").split())
    assert "3 factors in 18 runs, 18 different; strength 3." in text
    assert "nearly so in 9, 16" in text
    rows = told(capfd, ".", "--orthogonal-array", "--format", "csv").splitlines()
    assert rows[0] == "cache,threads,sync"
    assert sorted(rows[1:])[0] == "lfu,1,off"
    small = json.loads(told(capfd, ".", "--orthogonal-array", "--runs", "9", "--format", "json"))
    assert small["kind"] == "nearly orthogonal array"
    assert small["unbalanced"] == ["sync"]
    assert small["settings"]["threads"] == [1, 2, 4]
    markdown = " ".join(told(capfd, ".", "--orthogonal-array", "--runs", "9", "--format", "markdown").split())
    assert "Not balanced: sync" in markdown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--factors", "A-K", "--plackett-burman", "--runs", "10"), "8 and 12 runs"),
        (("--factors", "A-K", "--plackett-burman", "--resolution", "4"), "--runs alone"),
        (("--factors", "A-C", "--foldover", "Z"), "'Z' is not a factor"),
        (("--factors", "A-C", "--foldover", ""), "neither a factor"),
        (("--factors", "A-C", "--semifold", "Z"), "'Z' is not a factor"),
        (("--factors", "A-C", "--blocks", "5"), "5 blocks of 8 runs have fewer than two runs"),
        (("--factors", "A-O", "--runs", "16", "--blocks", "2"), "hide main effects"),
        (("--orthogonal-array",), "PATH"),
        ((".", "--orthogonal-array", "--runs", "10"), "orthogonal in 18, 36"),
        ((".", "--orthogonal-array", "--foldover", "all"), "--runs alone"),
        ((".", "--orthogonal-array", "--alias-order", "2"), "--runs alone"),
    ],
)
def test_what_is_refused(
    project: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert main(["design", *words]) == 2
    assert message in capfd.readouterr().err


@pytest.mark.parametrize("words", [("--runs", "16"), (), ("--resolution", "4"), ("--plackett-burman",)])
def test_a_two_level_design_is_not_made_of_what_it_does_not_fit(
    project: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    nested = "[options.interval]\nsettings = [10, 100]\nactive_if = \"sync == 'on'\"\n"
    rules = "[space]\nconstraints = [\"sync == 'on' or threads == 1\"]\n"
    (project / "hati.toml").write_text(f"{PROJECT}{nested}{rules}")
    assert main(["design", ".", *words]) == 2
    said = capfd.readouterr().err
    for obstacle in ("'cache' has 3 settings", "'interval' has no influence", "has constraints", "--optimal bayes"):
        assert obstacle in said


def test_a_two_level_design_of_two_level_options_is_made(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = "".join(f'[options.{name}]\nsettings = ["off", "on"]\n' for name in ("one", "two", "three"))
    (project / "hati.toml").write_text(PROJECT[: PROJECT.index("[options")] + options)
    assert main(["design", ".", "--runs", "4"]) == 0
    assert "three" in capfd.readouterr().out


def test_constraints_are_in_the_way(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "hati.toml").write_text("[space]\nconstraints = [\"sync == 'on' or threads == 1\"]\n" + PROJECT)
    assert main(["design", ".", "--orthogonal-array"]) == 2
    assert "there are constraints; an orthogonal array needs" in capfd.readouterr().err
