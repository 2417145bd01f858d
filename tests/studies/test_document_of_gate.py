"""What stops a change is told alike by everything that tells of a gate."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from example_gates import GATES, affected, gate, report, row

from hati.core import Assignment, Configuration, Size, replace
from hati.document import Joined, publish
from hati.render import to_plain
from hati.studies.comparison import ChangeVerdict, Comparison
from hati.studies.findings import (
    FindingsJson,
    Report,
    Ruling,
    events_of,
    findings_of,
    findings_table,
    report_sentence,
    sighting_of,
)
from hati.studies.gate import RivalCauses
from hati.studies.gate.conclusion import StratumChange
from hati.studies.gate.document import GateJson, gate_answer, gate_cases, gate_table, gate_tables
from hati.studies.known import Coverage, coverage_notes
from hati.wiring.kinds.gate import _status

STATUS = {
    "same": 0,
    "slower": 1,
    "known": 0,
    "known-and-undecided": 3,
    "faster": 0,
    "inconclusive": 3,
    "broken": 4,
    "hostile": 1,
    "many": 1,
}


@pytest.mark.parametrize("name", GATES)
def test_status_cases_json_and_answer_agree(name: str) -> None:
    ruling = GATES[name]()
    status, cases = _status(ruling), gate_cases(ruling)
    said = to_plain(publish(ruling, GateJson))
    assert isinstance(said, dict)
    assert status == STATUS[name]
    assert said["fails"] is ruling.fails is (status != 0)
    assert any(case.error for case in cases) == (status == 4)
    if status != 4:
        assert any(case.failure for case in cases) == (status == 1)
    assert gate_answer(ruling).startswith("slower: ") == (status == 1)
    assert len({(case.suite, case.name) for case in cases}) == len(cases)
    rows = said["benchmarks"]
    assert isinstance(rows, list)
    assert all((one["known"] is not None) <= (one["verdict"] == "slower") for one in rows)
    slower = {one["benchmark"] for one in rows if one["verdict"] == "slower" and one["known"] is None}
    assert slower == {case.suite for case in cases if case.failure}


def test_json_has_the_keys_that_programs_rely_on() -> None:
    said = to_plain(publish(GATES["slower"](), GateJson))
    assert isinstance(said, dict)
    assert list(said)[:2] == ["format", "verdict"]
    assert {"verdict", "reference", "revision", "benchmarks", "strata", "options", "findings"} <= set(said)
    [first, *_] = said["options"]
    assert {"option", "setting", "ratio", "interval"} <= set(first)


def test_what_stops_a_change_is_chosen() -> None:
    """``--fail-on`` decides for cases as for the exit status."""
    found = GATES["slower"]().gate
    lenient = Ruling(found, (report(found, fails=True),), frozenset({ChangeVerdict.INCONCLUSIVE}))
    assert _status(lenient) == 0
    assert not any(case.failure for case in gate_cases(lenient))
    both = gate(row(ChangeVerdict.SLOWER), row(ChangeVerdict.INCONCLUSIVE, "other"))
    assert _status(Ruling(both, (), frozenset({ChangeVerdict.INCONCLUSIVE}))) == 3
    strict = Ruling(gate(row(ChangeVerdict.FASTER)), (), frozenset({ChangeVerdict.FASTER}))
    assert _status(strict) == 1
    assert any(case.failure for case in gate_cases(strict))


def test_what_is_slower_without_a_finding_fails() -> None:
    """As where the ratio is unknown."""
    assert _status(Ruling(gate(row(ChangeVerdict.SLOWER)))) == 1


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("same", "same"),
        ("slower", "slower"),
        ("known", "slower, as known"),
        ("known-and-undecided", "inconclusive, and slower as known"),
    ],
)
def test_the_title_says_what_is_known(name: str, verdict: str) -> None:
    assert gate_tables(GATES[name]())[0].title.partition(": ")[2] == verdict


def test_what_looks_changed_at_the_end_is_in_the_answer_with_its_size() -> None:
    found = replace(gate(row(ChangeVerdict.INCONCLUSIVE)), suspected=("latency of main",), confirmed=2)
    assert gate_answer(Ruling(found)).startswith("not decided: latency of main; looks changed: latency of main ")
    notes = " ".join(note for table in gate_tables(Ruling(found)) for note in table.notes)
    assert "Looks changed, which 2 rounds of fresh runs could not confirm before the end: latency of main." in notes


@pytest.mark.parametrize(("needed", "said"), [(40, "40"), (None, "more than 1,000")])
def test_what_is_not_decided_has_its_estimate_and_the_rounds_that_would_decide(needed: int | None, said: str) -> None:
    ruling = GATES["inconclusive"]()
    own = next(each for each in ruling.gate.rows if each.change.verdict is ChangeVerdict.INCONCLUSIVE)
    found = replace(ruling.gate, rows=(replace(own, change=replace(own.change, runs_needed=needed)),))
    notes = " ".join(note for table in gate_tables(replace(ruling, gate=found)) for note in table.notes)
    assert "Not decided after 10 rounds: latency of main, +2.0 % (-10.0 % to +14.0 %); " in notes
    assert f"; {said} would decide with 80 % probability" in notes


@pytest.mark.parametrize(("interval", "noted"), [((0.919, 1.066), True), ((0.97, 1.04), False), ((0.951, 1.0), True)])
def test_the_same_with_an_interval_beyond_the_margin_names_the_test(interval: tuple[float, float], noted: bool) -> None:
    own = row(ChangeVerdict.SAME)
    wide = replace(own, change=replace(own.change, interval=interval))
    notes = " ".join(gate_tables(Ruling(gate(wide, row(ChangeVerdict.SLOWER))))[0].notes)
    said = "1 of 2 rows is the same with an interval beyond the margin: two one-sided tests decide, each at 1 %. "
    assert (said in notes) is noted
    assert ("an interval of 98 % confidence excludes; the one shown has 99 %, and is wider" in notes) is noted


def test_one_round_says_nothing_of_the_number_that_would_decide() -> None:
    ruling = GATES["inconclusive"]()
    own = next(each for each in ruling.gate.rows if each.change.verdict is ChangeVerdict.INCONCLUSIVE)
    once = replace(own, before=replace(own.before, runs=1), after=replace(own.after, runs=1))
    found = replace(ruling.gate, rows=(replace(once, change=replace(own.change, runs_needed=None)),))
    notes = " ".join(note for table in gate_tables(replace(ruling, gate=found)) for note in table.notes)
    assert "Not decided after 1 round: latency of main, +2.0 % (-10.0 % to +14.0 %). " in notes
    assert "would decide" not in notes


def test_one_round_is_no_plural() -> None:
    found = replace(gate(row(ChangeVerdict.INCONCLUSIVE)), explored=1)
    assert any(note.startswith("1 round; a round has") for note in gate_tables(Ruling(found))[0].notes)


def test_an_acknowledged_finding_that_is_not_shown_is_named() -> None:
    known = report(gate(row(ChangeVerdict.SLOWER)), fails=False, reason="it has to wait").finding
    ruling = Ruling(gate(row(ChangeVerdict.INCONCLUSIVE)), unshown=(known,))
    [note] = (note for note in gate_tables(ruling)[0].notes if note.startswith(known.id))
    assert note.endswith("acknowledged by Sköll: it has to wait; this check does not show it again.")
    assert _status(ruling) == 3


def test_a_known_regression_hides_no_other() -> None:
    found = gate(row(ChangeVerdict.SLOWER))
    known = report(found, fails=False, reason="it has to wait")
    more = gate(row(ChangeVerdict.SLOWER), row(ChangeVerdict.SLOWER, "other"))
    ruling = Ruling(more, (known,))
    assert [one.benchmark for one in ruling.slower] == ["other"]
    assert _status(ruling) == 1
    assert [case.suite for case in gate_cases(ruling) if case.failure] == ["other"]
    verdicts = {cells[0]: cells[-1] for cells in gate_tables(ruling)[0].rows}
    assert getattr(verdicts["main"], "text", None) == "slower, known"
    assert verdicts["other"] == "slower"


def test_the_short_table_has_what_is_not_the_same_and_the_worst_first() -> None:
    assert gate_table(GATES["same"]()) is None
    short = gate_table(GATES["many"]())
    assert short is not None
    assert [cells[-1] for cells in short.rows[:3]] == ["slower", "slower", "inconclusive"]
    assert (len(short.rows), short.notes) == (20, ("13 more below.",))


def test_metrics_of_the_same_runs_share_their_time() -> None:
    """Booked on the benchmark alone: a stratum's runs are among its own."""

    def timed(metric: str, benchmark: str = "main") -> Comparison:
        made = row(ChangeVerdict.SLOWER, benchmark, metric)
        return replace(made, before=replace(made.before, seconds=3.0), after=replace(made.after, seconds=5.0))

    stratum = StratumChange({"cache": "on"}, row(ChangeVerdict.SLOWER, where=Configuration({"cache": "on"})))
    found = gate(timed("latency"), timed("memory"), timed("latency", "other"), strata=(stratum,))
    cases = gate_cases(Ruling(found, (), frozenset()))
    assert [case.seconds for case in cases] == [4.0, 4.0, 8.0, None]
    assert all(case.seconds is None for case in gate_cases(GATES["slower"]()))


def test_benchmarks_that_are_not_screened_have_one_note_and_one_remedy() -> None:
    remedy = "`hati screen` finds which options matter."
    coverage = [
        Coverage(name, 1, 8, (), f"the default configuration: {name} is not screened", remedy) for name in ("a", "b")
    ]
    assert coverage_notes(coverage) == (
        "Measured: the default configuration: a is not screened; the default configuration: b is not screened. "
        f"{remedy}",
    )


def test_places_of_a_finding_are_named_with_their_sizes_and_the_largest_first() -> None:
    first = report(gate(row(ChangeVerdict.SLOWER)), fails=True)
    [key] = first.finding.sizes
    sizes = {
        replace(key, benchmark="a"): Size(1.1, 1.05, 1.15),
        replace(key, benchmark="b"): Size(1.3, 1.2, 1.4),
    }
    both = replace(first.finding, sizes=sizes)
    where = "b latency +30.0 % (+20.0 to +40.0 %); a latency +10.0 % (+5.0 to +15.0 %), "
    assert where in report_sentence(replace(first, finding=both))
    table = findings_table([both])
    assert table.rows[0][3:6] == ("b latency; a latency", "+30.0 %", "+20.0 to +40.0 %")
    assert any(note.startswith("change: that of the first place") for note in table.notes)
    assert not any("first place" in note for note in findings_table([first.finding]).notes)


def test_a_finding_names_what_changed_over_all_and_the_cause_that_was_found() -> None:
    stratum = Configuration({"mode": "fast"})
    whole, part = row(ChangeVerdict.SLOWER), row(ChangeVerdict.SLOWER)
    larger = replace(part, configuration=stratum, change=replace(part.change, ratio=1.14, interval=(1.12, 1.16)))
    found = gate(whole)
    found = replace(found, strata=(StratumChange(Assignment(stratum), larger),), affected_options=affected())
    seen = sighting_of(found, frozenset(), frozenset())
    [finding] = findings_of(events_of(seen, (), datetime(2026, 1, 1, tzinfo=UTC)))
    assert "main latency +13.0 % (+11.5 to +14.5 %), most where cache=true; main latency mode=fast +14.0 %" in (
        report_sentence(Report(finding, news=True, fails=True))
    )
    [cells] = findings_table([finding]).rows
    assert cells[3:5] == (
        "main latency, most where cache=true; main latency mode=fast, most where cache=true",
        "+13.0 %",
    )
    published = json.dumps(to_plain(publish(Joined(findings=[finding]), FindingsJson)))
    assert published.count('"most_where": "cache=true"') == 2


@pytest.mark.parametrize(
    ("causes", "words"),
    [
        (("rsync", "quiet=true log=true"), "explanations that fit equally well: rsync; quiet=true log=true. A larger"),
        ((), "it differs between them, and neither one option nor two are shown to explain that. A larger"),
    ],
)
def test_explanations_that_are_not_distinguished_are_listed(causes: tuple[str, ...], words: str) -> None:
    ruling = Ruling(replace(gate(row(ChangeVerdict.SLOWER)), rival_causes=(RivalCauses("main", "latency", causes),)))
    notes = " ".join(note for table in gate_tables(ruling) for note in table.notes)
    assert f"what the change of latency of main depends on: {words}" in notes
    published = json.loads(json.dumps(to_plain(publish(ruling, GateJson))))
    assert published["rival_causes"] == [{"benchmark": "main", "metric": "latency", "causes": list(causes)}]


def test_both_places_that_cannot_be_measured_are_named() -> None:
    ruling = GATES["broken"]()
    alone = ruling.broken[0]
    both = (replace(alone, benchmark="a"), replace(alone, benchmark="b"))
    answer = gate_answer(replace(ruling, gate=replace(ruling.gate, broken=both)))
    assert answer == f"cannot be measured: a {alone.configuration}; b {alone.configuration} work at the reference alone"
