"""``hati report`` of every kind of study that a store holds."""

from __future__ import annotations

import gzip
import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gate_projects import LISTED, PROJECT, evolving

from hati.core import StudyId
from hati.store import open_store

if TYPE_CHECKING:
    from conftest import Hati

VERBS: dict[str, tuple[str, ...]] = {
    "measurement": ("run", "--set", "a=on", "--budget", "6"),
    "suite": ("suite", "--options", "a,b", "--runs", "4"),
    "failures": ("failures", "--strength", "2"),
    "paired": ("compare", "main", "main", "--set-after", "a=on", "--budget", "16", "--fail-on", "none"),
    "gate": ("check", "HEAD", "--reference", "HEAD~2"),
    "bisection": ("bisect", "HEAD~2", "HEAD", "--set", "a=on"),
    "effect-drift": ("compare-effects", "HEAD~2", "HEAD"),
    "replay": ("history", "--revisions", "HEAD~7..HEAD", "--runs", "2"),
    "screening": ("screen", "--budget", "8"),
    "validation": ("validate", "--budget", "8"),
}
BEFORE = {"validation": "screening", "gate": "suite", "replay": "suite"}
"""The study from which one of that kind takes what it measures."""
NOT_STORED = {"recalibration", "known", "options_from", "source", "news", "events"}
"""What a verb tells besides the study: what it would do next, how it came to its options, and what it told first."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with a past of eight commits, the last but one of which made ``a`` cost more."""
    made = evolving(tmp_path_factory.mktemp("repository"), extra=LISTED)
    for number in range(8):
        made.commit(with_a=150 if number >= 6 else 120)
    return made.project


def stored(repository: Path, kind: str) -> str:
    studies = open_store(str(repository / ".hati" / "store.sqlite")).studies()
    return [record.id.key for record in studies if record.id.kind == kind][-1]


@pytest.mark.parametrize("kind", VERBS)
def test_a_study_is_reported_as_its_verb_told_it(repository: Path, hati_here: Hati, kind: str) -> None:
    if kind in BEFORE:
        assert hati_here(*VERBS[BEFORE[kind]], folder=repository).status == 0
    made = hati_here(*VERBS[kind], "--format", "json", folder=repository)
    assert made.status == (1 if kind == "gate" else 0), made.err
    key = stored(repository, kind)
    runs = hati_here("runs", "--format", "json", folder=repository).json
    told = hati_here("report", "--study", key, "--format", "json", folder=repository)
    assert told.status == 0, told.err
    assert without(told.json) == without(made.json)
    for chosen in ("text", "markdown", "html"):
        shown = hati_here("report", "--study", key, "--format", chosen, folder=repository)
        assert (shown.status, bool(shown.out)) == (0, True)
    assert hati_here("runs", "--format", "json", folder=repository).json == runs, "nothing is measured"


def without(values: Any) -> Any:
    """The values but for what no store has: revisions as they were called, and the above."""
    if isinstance(values, dict):
        left = {name: value for name, value in values.items() if name not in NOT_STORED}
        if {"id", "kind"} <= set(left):
            left.pop("name", None)
        return {name: without(value) for name, value in left.items()}
    return [without(value) for value in values] if isinstance(values, list) else values


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("measurement", "6 runs done, 0 failed"),
        ("paired", "latency slower: +50.0 %"),
        ("gate", "slower: latency of main"),
        ("bisection", "Changed by d1c583f45c31 (+24.9 %)"),
        ("effect-drift", "a: effect 2.2 times what it was"),
        ("replay", "series were shown to change their level"),
        ("suite", "mean latency over the whole space"),
        ("screening", "Fix `a=off` and screen the rest: hati screen --metric latency --set a=off"),
        ("validation", "decided: one model is left, of a"),
    ],
)
def test_a_store_of_an_earlier_version_is_reported(tmp_path: Path, hati_here: Hati, kind: str, words: str) -> None:
    """``stores/76aa3b0.sqlite.gz`` was written by that commit, of a repository that is not there."""
    (tmp_path / "hati.toml").write_text(PROJECT + LISTED)
    (tmp_path / ".hati").mkdir()
    kept = Path(__file__).parent / "stores" / "76aa3b0.sqlite.gz"
    (tmp_path / ".hati" / "store.sqlite").write_bytes(gzip.decompress(kept.read_bytes()))
    done = hati_here("report", "--study", kind)
    assert done.status == 0, done.err
    told = " ".join(done.out.split())
    assert words in told
    assert ("the defaults of the command" in told) is (kind in ASSUMED)


ASSUMED = {"paired", "bisection", "effect-drift", "replay", "suite"}
"""Kinds whose records did not have what was asked."""
TWO = """
[subject]
name = "two"

[[benchmark]]
name = "first"
command = ["sh", "-c", "echo score: $((100 + {a} * 20 + $(date +%N | cut -c8) % 3)); echo own: 1$(date +%N | cut -c8)"]
reader = "regex"

[[benchmark.metric]]
name = "score"
unit = "1"
pattern = "score: ([0-9]+)"

[[benchmark.metric]]
name = "own"
unit = "1"
pattern = "own: ([0-9]+)"

[[benchmark]]
name = "second"
command = ["sh", "-c", "echo score: $(($(cat level) + $(date +%N | cut -c8) % 3))"]
reader = "regex"
metric = [{ name = "score", unit = "1", better = "higher", pattern = "score: ([0-9]+)" }]

[options.a]
settings = [0, 1]

[options.b]
settings = [0, 1]
"""


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("gate", ("check", "HEAD", "--reference", "HEAD~1")),
        ("paired", ("compare", "first", "first", "--set-after", "a=1", "--metric", "own", "--fail-on", "none")),
        ("suite", ("suite", "--benchmark", "first", "--options", "a", "--runs", "4", "--metric", "own")),
        ("effect-drift", ("compare-effects", "HEAD~1", "HEAD", "--benchmark", "first", "--metric", "own")),
    ],
)
def test_benchmarks_keep_their_own_metrics(tmp_path: Path, hati_here: Hati, kind: str, words: tuple[str, ...]) -> None:
    made = evolving(tmp_path)
    (tmp_path / "hati.toml").write_text(TWO)
    for level in (100, 150):
        (tmp_path / "level").write_text(str(level))
        made.commit()
    verb = hati_here(*words, "--format", "json")
    assert verb.status in {0, 1, 3}, verb.err
    asked = ("--metric", "own") if "--metric" in words else ()
    told = hati_here("report", "--study", kind, *asked, "--format", "json")
    assert told.status == 0, told.err
    assert without(told.json) == without(verb.json)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("replay", ("--alpha", "20%", "--statistic", "median", "--fresh")),
        ("paired", ("--alpha", "20%", "--margin", "30%", "--statistic", "median", "--fresh")),
        ("suite", ("--quantiles", "10%,90%", "--margin", "20%")),
        ("effect-drift", ("--alpha", "30%")),
        ("bisection", ("--margin", "1%")),
        ("gate", ("--fail-on", "none", "--alpha", "2%", "--fresh")),
    ],
)
def test_what_was_asked_is_kept_and_reported(
    repository: Path, hati_here: Hati, tmp_path: Path, kind: str, words: tuple[str, ...]
) -> None:
    store = ("--store", str(tmp_path / "s.sqlite"))
    made = hati_here(*VERBS[kind], *words, *store, "--format", "json", folder=repository)
    assert made.status == 0, made.err
    key = hati_here("studies", *store, "--format", "json", folder=repository).json[-1]["study"]
    told = hati_here("report", "--study", key, *store, "--format", "json", folder=repository)
    assert without(told.json) == without(made.json)
    assert "not stored" not in hati_here("report", "--study", key, *store, folder=repository).out


def test_another_statistic_leaves_the_chosen_one(repository: Path, hati_here: Hati, tmp_path: Path) -> None:
    words = (*VERBS["paired"], "--store", str(tmp_path / "s.sqlite"), "--format", "json")
    first = hati_here(*words, folder=repository).json
    assert hati_here(*words, "--statistic", "median", folder=repository).json != first
    assert hati_here(*words, folder=repository).json == first


def test_means_of_settings_are_shown_on_request(repository: Path, hati_here: Hati) -> None:
    assert hati_here(*VERBS["screening"], folder=repository).status == 0
    plain, told = (hati_here("report", *words, folder=repository).out for words in ((), ("--means",)))
    assert "Means of latency at each setting" not in plain
    rows = [line.split() for line in told[told.index("Means of latency at each setting") :].splitlines()]
    means = {row[1]: float(row[2]) for row in rows if row[:1] == ["a"]}
    assert means["on"] > means["off"]
    for words in (("--means",), ("--relevant", "2%")):
        wrong = hati_here("report", "--study", "measurement", *words, folder=repository)
        assert (wrong.status, wrong.out) == (2, "")


def test_verdicts_are_reported_for_continuous_integration(repository: Path, hati_here: Hati) -> None:
    assert hati_here(*VERBS["gate"], folder=repository).status == 1
    key = stored(repository, "gate")
    told = hati_here("report", "--study", key, "--format", "junit", folder=repository)
    assert (told.status, "<testsuite" in told.out, "<failure" in told.out) == (0, True, True), told.err
    assert hati_here(*VERBS["measurement"], folder=repository).status == 0
    wrong = hati_here("report", "--study", stored(repository, "measurement"), "--format", "junit", folder=repository)
    assert (wrong.status, wrong.out) == (2, "")
    assert "--format junit is for studies with verdicts" in wrong.err


def test_a_suite_is_reported_without_the_table_that_is_gone(repository: Path, hati_here: Hati, tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "s.sqlite"))
    full = tmp_path / "full.csv"
    rows = [f"{a},{b},{1000 + number}" for number, (a, b) in enumerate(product(("off", "on"), repeat=2))]
    full.write_text("a,b,latency\n" + "\n".join(rows) + "\n")
    assert hati_here(*VERBS["suite"], "--against", str(full), *store, folder=repository).status == 0
    told = hati_here("report", "--study", "suite", *store, folder=repository)
    assert (told.status, "not stored" in told.out) == (0, False), told.err
    full.unlink()
    told = hati_here("report", "--study", "suite", *store, folder=repository)
    assert told.status == 0, told.err
    assert "data to compare with: the defaults of the command" in " ".join(told.out.split())


def test_what_was_asked_of_another_version_is_left_out(repository: Path, hati_here: Hati, tmp_path: Path) -> None:
    place = str(tmp_path / "s.sqlite")
    assert hati_here(*VERBS["paired"], "--store", place, folder=repository).status == 0
    store = open_store(place)
    [record] = store.studies()
    store.keep_choice(record.id, json.dumps({**json.loads(record.choice or "{}"), "asked": {"budget": 10}}))
    store.close()
    told = hati_here("report", "--study", "paired", "--store", place, folder=repository)
    assert (told.status, "level, margin: the defaults" in " ".join(told.out.split())) == (0, True), told.err


def test_studies_are_listed_by_their_commands(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    made.commit()
    for words in (VERBS["screening"], VERBS["measurement"]):
        assert hati_here(*words).status == 0
    listed = hati_here("studies", "--format", "json").json
    assert [(each["command"], each["runs"]) for each in listed] == [("screen", 8), ("run", 6)]
    assert [each["study"] for each in listed] == [stored(tmp_path, kind) for kind in ("screening", "measurement")]
    assert listed[0]["last run"] <= listed[1]["last run"]
    assert listed[1]["study"].rpartition("-")[0] in hati_here("studies").out
    done = hati_here("studies", "--store", str(tmp_path / "elsewhere"))
    assert (done.status, done.out) == (2, "")


def test_a_study_is_named_by_as_much_of_its_key_as_is_listed(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    made.commit()
    for more in ((), ("--fresh",)):
        assert hati_here(*VERBS["measurement"], *more).status == 0
    keys = [each["study"] for each in hati_here("studies", "--format", "json").json]
    lines = hati_here("studies").out.splitlines()
    shown = list(dict.fromkeys(line.split()[0] for line in lines if line.startswith("measurement-")))
    assert max(map(len, lines)) <= 80
    assert shown == [key.rpartition("-")[0] for key in keys]
    for verb in ("runs", "export", "report"):
        assert hati_here(verb, "--study", shown[1]).out == hati_here(verb, "--study", keys[1]).out != ""
    several = f"2 studies begin with 'measurement'; there are: {', '.join(keys)}"
    assert several in hati_here("runs", "--study", "measurement").err
    for key, reason in (
        ("m", "'m' is not the key of a study; give one that `hati studies` lists; those that begin with it: "),
        ("measurement", f"those that begin with it: {', '.join(keys)}"),
        (keys[1][:-1], f"those that begin with it: {keys[1]}"),
        (shown[1][:-1], "those that begin with it: "),
        ("", "there is no study "),
    ):
        done = hati_here("forget", "--study", key)
        assert (done.status, done.out) == (2, "")
        assert reason in done.err
    assert hati_here("forget", "--study", shown[0]).out == f"6 runs of {keys[0]} forgotten\n"
    assert [each["study"] for each in hati_here("studies", "--format", "json").json] == keys[1:]
    done = hati_here("forget", "--study", "m")
    assert (done.status, done.out) == (2, "")
    assert f"those that begin with it: {keys[1]}" in done.err


def test_a_study_without_runs_is_listed_as_one(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    made.commit()
    assert hati_here(*VERBS["screening"]).status == 0
    store = open_store(str(tmp_path / ".hati" / "store.sqlite"))
    [record] = store.studies()
    store.begin(StudyId.of("recommendation", {}, 1, record.id.machine), ())
    store.close()
    text = " ".join(hati_here("studies").out.split())
    assert "0 none" in text
    assert "A study without runs was begun and measured nothing, or is a recommendation that found nothing" in text
    assert [each["last run"] for each in hati_here("studies", "--format", "json").json][1] is None


def test_a_recommendation_is_in_the_report_of_its_screening(repository: Path, hati_here: Hati) -> None:
    words = ("screen", "--budget", "16", "--seed", "2", "--recommend")
    assert hati_here(*words, folder=repository).status == 0
    told = hati_here("report", "--study", stored(repository, "recommendation"), "--format", "json", folder=repository)
    assert told.json["study"] == stored(repository, "screening")
    assert told.json["recommendation"]["study"] == stored(repository, "recommendation")


def test_what_cannot_be_reported_is_told(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path, extra=LISTED)
    made.commit()
    made.commit()
    assert hati_here("check", "HEAD", "--reference", "HEAD~1").status == 0
    key = stored(tmp_path, "gate")
    done = hati_here("report", "--study", f"{key}x")
    assert (done.status, done.out) == (2, "")
    assert hati_here("report", "--study", "gate").out == hati_here("report", "--study", key).out != ""
    assert hati_here("check", "HEAD", "--reference", "HEAD~1", "--fresh").status == 0
    assert f"2 studies begin with 'gate'; there are: {key}, gate-" in hati_here("report", "--study", "gate").err
    assert f"there is no study {key}x; did you mean {key!r}?" in done.err
    done = hati_here("report", "--study", "screening")
    assert "there is no study screening; `hati studies` lists them" in done.err
    done = hati_here("report")
    assert (done.status, done.out) == (2, "")
    assert f"there is no screening of {tmp_path.name} to report; `hati studies` lists other studies" in done.err
    for words, told in (
        (("--metric", "latency"), "is of all its metrics; leave out --metric"),
        (("--relevant", "2%"), "--relevant is for screenings"),
        (("--store", "nowhere.sqlite"), "there is no store nowhere.sqlite"),
    ):
        done = hati_here("report", "--study", key, *words)
        assert (done.status, done.out) == (2, "")
        assert told in done.err
    assert not (tmp_path / "nowhere.sqlite").exists()
    text = (tmp_path / "hati.toml").read_text()
    (tmp_path / "hati.toml").write_text(text.replace('name = "main"', 'name = "other"'))
    done = hati_here("report", "--study", key)
    assert (done.status, done.out) == (2, "")
    assert "'main'" in done.err
    assert "Traceback" not in done.err


def test_formulas_are_not_kept(tmp_path: Path, hati_here: Hati) -> None:
    evolving(tmp_path)
    (tmp_path / "perf.py").write_text("import time\n\n\ndef quick(n):\n    time.sleep(0.0)\n")
    assert hati_here("assert", "--formula", "perf:quick(1) <= 10 s", "--budget", "14").status == 0
    done = hati_here("report", "--study", stored(tmp_path, "assertion"))
    assert (done.status, done.out) == (2, "")
    assert "a store keeps no formulas; give the command that made it again" in done.err


def test_of_a_store_of_several_projects_the_last_screening_of_the_own_one_is_reported(
    hati: Hati, fake_project: Path
) -> None:
    other = fake_project / "other"
    other.mkdir()
    (other / "hati.toml").write_text(
        '[subject]\nname = "other"\n[[benchmark]]\nname = "main"\ncommand = ["sh", "-c", "echo x={x}; echo time: 1"]\n'
        'reader = "regex"\nmetric = [{ name = "time", unit = "s", pattern = "time: ([0-9]+)" }]\n'
        "[options.x]\nsettings = [1, 2]\n[options.y]\nsettings = [1, 2]\n"
    )
    store = ("--store", str(fake_project / ".hati" / "store.sqlite"))
    first = hati("screen", ".", "--metric", "latency", "--budget", "16", "--format", "json")
    none = hati("report", "other", *store)
    assert (none.status, "there is no screening of other to report" in none.err) == (2, True)
    assert hati("screen", "other", "--budget", "4", *store).status == 0
    assert hati("report", ".", "--format", "json").json["study"] == first.json["study"]
    assert hati("report", "other", *store, "--format", "json").json["subject"] == "other"
