"""``hati assert --machines``: two machines compared by what was measured on both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_assert_command import COUNT, PROJECT

from hati.core import Machine, Observations, Run, StudyId, replace
from hati.store import Selection, open_store

if TYPE_CHECKING:
    from conftest import Hati

OTHER = Machine.of({"cpus": "2", "name": "other", "processor": "another <b>kind</b>"})
SAMPLES = "--samples", "build=build.json,query=query.json,sort=sort.json"
MACHINES = "--machines", "alpha", "beta"
GOLDEN = """\
alpha  fingerprint alpha
beta   fingerprint beta

2 tests on alpha and beta: portability 1.325 in the median, 1.500 at most; 2
below 2

portability        interval  test               on alpha   runs  on beta   runs
-------------------------------------------------------------------------------
      1.500  1.392 to 1.617  query <= 0.6 *          0.5  2 + 2   0.3333  2 + 2
                             build
      1.150  1.067 to 1.239  build <= sort           0.5  2 + 2   0.4348  2 + 2

Portability: the factor by which the ratio of the two means differs between the
machines, 1 where it does not (SPL paper, section 6.5). Noise alone makes it
larger than 1, never smaller.
The interval is of confidence 98 %, by how runs vary: from 1 on where the
machines may agree. Of campaigns that ended when they were decided it misses up
to twice as often, where runs are of two kinds.
sort <= 10 s: left out, a limit is not of two methods.

Histogram

portability   tests
---------------------------------------------------
1 to 1.02         0
1.02 to 1.05      0
1.05 to 1.1       0
1.1 to 1.2        1  ##############################
1.2 to 1.5        0
1.5 to 2          1  ##############################
"""


@pytest.fixture
def sampled(tmp_path: Path) -> Path:
    """Means of runs that are 1 % away from it, on alpha and beta: build 2 and 3 s, query 1 and 1 s, sort 4 and 6.9 s.

    query/build is 1/2 and 1/3: portability 3/2. build/sort is 1/2 and 3/6.9: portability 6.9/6.
    """
    means = {"build": (2.0, 3.0), "query": (1.0, 1.0), "sort": (4.0, 6.9)}
    for name, both in means.items():
        samples = [
            {
                "benchmark": name,
                "metric": "time",
                "unit": "s",
                "machine": machine,
                "runs": [{"observations": [0.98 * mean, mean]}, {"observations": [1.01 * mean]}],
            }
            for machine, mean in zip(("alpha", "beta"), both, strict=True)
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps({"format": "hati-samples-1", "samples": samples}))
    (tmp_path / "r.spl").write_text("query <= 0.6 * build\nbuild <= sort & sort <= 10 s\n")
    return tmp_path


@pytest.mark.usefixtures("sampled")
def test_the_text_is_golden(hati_here: Hati) -> None:
    done = hati_here("assert", "r.spl", *SAMPLES, *MACHINES)
    assert (done.status, done.err) == (0, "")
    assert done.out == GOLDEN


@pytest.mark.usefixtures("sampled")
def test_json_has_every_number_unrounded(hati_here: Hati) -> None:
    told = hati_here("assert", "r.spl", *SAMPLES, *MACHINES, "--format", "json").json
    assert [test["text"] for test in told["tests"]] == ["query <= 0.6 * build", "build <= sort"]
    assert [test["portability"] for test in told["tests"]] == pytest.approx([1.5, 1.15])
    assert told["tests"][1]["ratios"] == pytest.approx([0.5, 3 / 6.9])
    assert told["tests"][0]["runs"] == [[2, 2], [2, 2]]
    assert (told["median"], told["largest"]) == pytest.approx((1.325, 1.5))
    assert [each["name"] for each in told["machines"]] == ["alpha", "beta"]
    assert [bin_["tests"] for bin_ in told["histogram"]] == [0, 0, 0, 1, 0, 1, 0, 0, 0]
    assert (told["histogram"][0]["from"], told["histogram"][-1]["to"]) == (1.0, None)
    assert told["left_out"] == [{"text": "sort <= 10 s", "reason": "a limit is not of two methods"}]


@pytest.mark.usefixtures("sampled")
def test_alpha_is_of_either_side_of_the_interval(hati_here: Hati) -> None:
    words = "assert", "r.spl", *SAMPLES, *MACHINES, "--format", "json"
    told, wide = hati_here(*words).json, hati_here(*words, "--alpha", "0.1%").json
    assert (told["confidence"], wide["confidence"]) == pytest.approx((0.98, 0.998))
    for test, wider in zip(told["tests"], wide["tests"], strict=True):
        assert 1.0 <= wider["interval"][0] <= test["interval"][0] <= test["portability"]
        assert test["portability"] < test["interval"][1] < wider["interval"][1]


@pytest.mark.usefixtures("sampled")
def test_reports_tell_the_same(hati_here: Hati) -> None:
    reports = "--report", "html=p.html", "--report", "markdown=p.md"
    assert hati_here("assert", "r.spl", *SAMPLES, *MACHINES, *reports).out == GOLDEN
    page = Path("p.html").read_text()
    assert "query &lt;= 0.6 * build" in page
    assert "Portability of tests between alpha and beta" in page
    assert "| 1.500 | 1.392 to 1.617 | query &lt;= 0.6 \\* build |" in Path("p.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--machines", "alpha", "gamma"], "--machines gamma: there is no run of these formulas on it in the samples"),
        (["--machines", "alpha", "gamma"], "there are alpha, beta"),
        (["--machines", "alpha", "alpha"], "both are alpha"),
        ([*MACHINES, "--explain", "1"], "--explain is not for --machines"),
        ([*MACHINES, "--history", "build=build.json"], "--history is not for --machines"),
        ([*MACHINES, "--dry-run"], "--dry-run is not for --machines"),
        ([*MACHINES, "--fresh"], "--fresh is not for --machines"),
        ([*MACHINES, "--interpretation", "welch"], "--interpretation is not for --machines"),
        ([*MACHINES, "--interpretation", "default"], "--interpretation is not for --machines"),
        ([*MACHINES, "--margin", "2%"], "--margin is not for --machines"),
        ([*MACHINES, "--budget", "5m"], "--budget is not for --machines"),
        ([*MACHINES, "--seed", "1"], "--seed is not for --machines"),
        ([*MACHINES, "--fail-on", "none"], "--fail-on is not for --machines"),
        ([*MACHINES, "--store", "s.sqlite"], "--store is not for --samples"),
        ([*MACHINES, "--format", "junit"], "--machines gives no verdicts for junit"),
        ([*MACHINES, "--report", "junit=x.xml"], "--machines gives no verdicts for junit"),
        ([*MACHINES, "--formula", "none <= build"], "there is no sample of none"),
    ],
)
@pytest.mark.usefixtures("sampled")
def test_what_cannot_be_compared_is_refused(hati_here: Hati, words: list[str], message: str) -> None:
    done = hati_here("assert", "r.spl", *SAMPLES, *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_the_store_knows_what_was_measured_on_both(tmp_path: Path, hati: Hati) -> None:
    """The other machine, whose store was taken in, counts 10 % more steps for ``slow``: portability 1.1."""
    (tmp_path / "hati.toml").write_text(PROJECT)
    (tmp_path / "count.py").write_text(COUNT)
    words = "assert", "--formula", "fast(10) <= slow(10)"
    assert hati(*words).status == 0
    here = _on_another(tmp_path)
    assert hati("import", str(_elsewhere(tmp_path))).status == 0
    done = hati(*words, "--machines", here[:6], "other", "--format", "json", "--report", "html=p.html")
    assert done.status == 0
    (test,) = done.json["tests"]
    assert test["portability"] == pytest.approx(1.1)
    assert test["runs"] == [[7, 7], [7, 7]]
    assert done.json["machines"][0]["fingerprint"] == here
    assert done.json["machines"][1] == {
        "name": "other",
        "fingerprint": OTHER.fingerprint,
        "properties": dict(OTHER.properties),
    }
    assert "processor another &lt;b&gt;kind&lt;/b&gt;, cpus 2" in (tmp_path / "p.html").read_text()
    (tmp_path / "count.py").write_text(COUNT + "\n")
    edited = hati(*words, "--machines", here, "other")
    assert edited.status == 2
    assert "runs of these formulas, but none of the revisions that they name now" in edited.err
    never = hati("assert", "--formula", "fast(11) <= slow(11)", "--machines", here, "other")
    assert (never.status, "nothing was measured of these formulas" in never.err) == (2, True)


def test_runs_of_another_definition_are_not_pooled(tmp_path: Path, hati: Hati) -> None:
    """As it was defined first ``slow`` counts twice as many steps here; what is changed is its command alone."""
    words = "assert", "--formula", "fast(10) <= slow(10)"
    count = COUNT.replace("sys.argv[1:]", "sys.argv[1:4]")
    (tmp_path / "count.py").write_text(count)
    for more in ('"24", "{repetition}", "before"', '"12", "{repetition}"'):
        (tmp_path / "hati.toml").write_text(PROJECT.replace('"12", "{repetition}"', more))
        assert hati(*words).status == 0
    here = _on_another(tmp_path)
    assert hati("import", str(_elsewhere(tmp_path))).status == 0
    told = hati(*words, "--machines", here, "other", "--format", "json").json
    assert told["tests"][0]["runs"] == [[14, 7], [14, 7]]
    assert told["tests"][0]["portability"] == pytest.approx(1.1)
    assert told["tests"][0]["ratios"][0] == pytest.approx(100 / 120, rel=0.01)
    left = {"benchmark": "slow(10)", "runs": 7, "differs": ["command"]}
    assert told["set_aside"] == [{**left, "machine": here}, {**left, "machine": OTHER.fingerprint}]
    assert told["former"] == []
    (tmp_path / "hati.toml").write_text(PROJECT.replace('"12", "{repetition}"', '"13", "{repetition}"'))
    text = " ".join(hati(*words, "--machines", here, "other").out.split())
    assert "7 runs of slow(10) on other: left out, of another definition (command)." in text
    assert "slow(10) is compared by an earlier definition; what changed since: command." in text


def test_one_relation_that_fails_does_not_hide_the_others(sampled: Path, hati_here: Hati) -> None:
    """On beta nothing is known of ``fine``, and ``sizes`` is in bytes."""
    known = json.loads((sampled / "build.json").read_text())
    for each in known["samples"]:
        each.update(benchmark="sizes", metric="size", unit="B")
    (sampled / "sizes.json").write_text(json.dumps(known))
    known["samples"] = known["samples"][:1]
    (sampled / "fine.json").write_text(json.dumps(known))
    given = "--samples", f"{SAMPLES[1]},sizes=sizes.json,fine=fine.json"
    told = hati_here("assert", "r.spl", "--formula", "build <= fine", *given, *MACHINES, "--format", "json").json
    assert len(told["tests"]) == 2
    assert {"text": "build <= fine", "reason": "fine on beta: there is no sample of it"} in told["left_out"]
    done = hati_here("assert", "r.spl", "--formula", "build <= sizes", *given, *MACHINES)
    assert (done.status, done.out) == (2, "")
    assert "the left side is time, the right side memory" in done.err


def _elsewhere(folder: Path) -> Path:
    """A file that is no part of the subject."""
    return folder.parent / f"{folder.name}-other.sqlite"


def _on_another(folder: Path) -> str:
    """Write a store: the same campaign as if it had been made on another machine; the fingerprint of this."""
    store, other = open_store(str(folder / ".hati" / "store.sqlite")), open_store(str(_elsewhere(folder)))
    studies = {}
    for record in store.studies():
        study = StudyId(record.id.kind, record.id.parameters, record.id.seed, OTHER.fingerprint, 1, "t0")
        other.begin(study, record.metrics, OTHER)
        studies[record.id.key] = study
    runs = store.runs(Selection())
    for run in runs:
        assert other.record(_slower(run, studies[run.task.study]))
    store.close()
    other.close()
    return runs[0].machine


def _slower(run: Run, study: StudyId) -> Run:
    factor = 1.1 if run.task.benchmark.startswith("slow") else 1.0
    observed = tuple(Observations(o.metric, o.unit, o.values * factor, o.warmup) for o in run.observations)
    task = replace(run.task, study=study.key)
    return replace(run, task=task, machine=OTHER.fingerprint, observations=observed)
