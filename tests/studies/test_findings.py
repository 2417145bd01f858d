"""Findings: their life against a model, that the order of events and their copies do not matter, and what is told."""

from __future__ import annotations

import itertools
import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hati.core import Event, EventKind, Finding, FindingState, InputError, SeriesKey, Size, replace
from hati.studies.findings import Sighting, events_of, finding_id, finding_of, findings_of, not_yet_said, reports

START = datetime(2026, 1, 1, tzinfo=UTC)
SPOT = SeriesKey("main", "time", "", "", "m")
OTHER = SeriesKey("main", "memory", "", "", "m")
FIRST = finding_id(True, "r0", "r1")
LARGEST = 40
WIDTH = 1.7
"""Half of an interval, in percentage points; of whole ones none ends where another begins."""


STUDIES = itertools.count()


def size(percent: int) -> Size:
    ratio = 1.0 + percent / 100
    return Size(ratio, ratio - WIDTH / 100, ratio + WIDTH / 100)


def sighting(
    percent: int | None, revision: str = "r1", between: tuple[str, ...] = ("r1",), same: bool = False
) -> Sighting:
    worse = {} if percent is None else {SPOT: size(percent)}
    there = frozenset({SPOT} if same else ())
    return Sighting(f"study {next(STUDIES)}", "r0", revision, frozenset(between), worse, {}, there, frozenset({FIRST}))


class Life(RuleBasedStateMachine):
    """One regression, measured, acknowledged and told in any order, beside a model of a few words."""

    @initialize()
    def begin(self) -> None:
        self.events: list[Event] = []
        self.now = START
        self.state = ""
        self.known = 0
        self.last = 0
        self.news = False

    def tick(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def findings(self) -> tuple[Finding, ...]:
        return findings_of(self.events)

    @rule(percent=st.integers(5, LARGEST))
    def seen(self, percent: int) -> None:
        before = self.findings()
        events = events_of(sighting(percent), before, self.tick())
        self.events += events
        [told] = reports(before, self.findings(), events, frozenset())
        grown = bool(self.known) and percent - WIDTH > self.known + WIDTH
        assert told.fails is (self.state != "acknowledged" or grown)
        if grown or self.state in {"", "resolved"}:
            self.known = percent
        if not self.state:
            self.state, self.news = "new", True
        elif self.state == "new":
            self.state = "confirmed"
        elif self.state == "resolved" or (self.state == "acknowledged" and grown):
            self.state, self.news = "reopened", True
        self.news = self.news or grown
        self.last = percent
        assert told.news is self.news

    @precondition(lambda self: self.state)
    @rule()
    def gone(self) -> None:
        events = events_of(sighting(None, same=True), self.findings(), self.tick())
        self.events += events
        if self.state != "resolved":
            self.state, self.news = "resolved", True

    @precondition(lambda self: self.state)
    @rule()
    def acknowledged(self) -> None:
        self.events.append(Event(FIRST, EventKind.ACKNOWLEDGED, self.tick(), author="me", reason="so"))
        self.known = self.last
        if self.state != "resolved":
            self.state = "acknowledged"

    @precondition(lambda self: self.state)
    @rule()
    def told(self) -> None:
        self.events.append(Event(FIRST, EventKind.REPORTED, self.tick()))
        self.known = self.last
        self.news = False

    @invariant()
    def it_is_as_the_model_says(self) -> None:
        if not getattr(self, "state", ""):
            return
        [found] = self.findings()
        assert (found.id, found.state.value, found.unreported is not None) == (FIRST, self.state, self.news)
        assert found.sizes[SPOT].ratio == pytest.approx(1 + self.last / 100)

    @invariant()
    def order_and_copies_do_not_matter(self) -> None:
        events = list(getattr(self, "events", ()))
        shuffled = events + events[::2]
        random.Random(len(events)).shuffle(shuffled)
        assert findings_of(shuffled) == findings_of(events)


TestLife = Life.TestCase


def test_an_acknowledged_finding_is_told_to_nobody_in_thirty_checks() -> None:
    events = events_of(sighting(30), (), START)
    events.append(Event(FIRST, EventKind.ACKNOWLEDGED, START + timedelta(seconds=1), author="me", reason="so"))
    events.append(Event(FIRST, EventKind.REPORTED, START + timedelta(seconds=2)))
    for number in range(30):
        before = findings_of(events)
        seen = events_of(sighting(29 + number % 3), before, START + timedelta(minutes=1 + number))
        events += seen
        [told] = reports(before, findings_of(events), seen, frozenset())
        assert not told.news
        assert not told.fails
        assert told.finding.state is FindingState.ACKNOWLEDGED


def test_what_grows_in_small_steps_has_grown_beyond_what_was_told() -> None:
    events = events_of(sighting(10), (), START)
    events.append(Event(FIRST, EventKind.ACKNOWLEDGED, START + timedelta(seconds=1), author="me", reason="so"))
    happened = []
    for number, percent in enumerate((11, 12, 13, 14, 15)):
        seen = events_of(sighting(percent), findings_of(events), START + timedelta(minutes=1 + number))
        happened += [event.what for event in seen]
        events += seen
    assert happened == [EventKind.SEEN] * 3 + [EventKind.GROWN, EventKind.SEEN]


def test_measuring_again_until_it_passes_does_not_help() -> None:
    events = events_of(sighting(30), (), START)
    before = findings_of(events)
    again = events_of(sighting(30), before, START + timedelta(seconds=1))
    [told] = reports(before, findings_of(events + again), again, frozenset({"r1"}))
    assert told.fails


def test_a_regression_that_was_merged_fails_no_later_revision() -> None:
    events = events_of(sighting(30), (), START)
    before = findings_of(events)
    later = events_of(sighting(30, "r2", ("r1", "r2")), before, START + timedelta(seconds=1))
    [in_branch] = reports(before, findings_of(events + later), later, frozenset())
    [merged] = reports(before, findings_of(events + later), later, frozenset({"r1"}))
    assert (in_branch.finding.id, in_branch.fails) == (FIRST, True)
    assert (merged.finding.id, merged.fails) == (FIRST, False)


def test_growth_fails_its_revision_each_time_and_no_later_one() -> None:
    events = events_of(sighting(10), (), START)
    for number, (percent, revision) in enumerate(((30, "r2"), (30, "r2"), (30, "r3"))):
        before = findings_of(events)
        seen = events_of(
            sighting(percent, revision, ("r1", "r2", revision)), before, START + timedelta(seconds=number + 1)
        )
        events += seen
        [told] = reports(before, findings_of(events), seen, frozenset({"r1"}))
        assert (seen[0].what is EventKind.GROWN, told.fails) == (number == 0, revision == "r2")


def test_growth_that_was_acknowledged_fails_no_more() -> None:
    events = events_of(sighting(10), (), START)
    events += events_of(sighting(30), findings_of(events), START + timedelta(seconds=1))
    events.append(Event(FIRST, EventKind.ACKNOWLEDGED, START + timedelta(seconds=2), author="me", reason="so"))
    before = findings_of(events)
    seen = events_of(sighting(30), before, START + timedelta(seconds=3))
    [told] = reports(before, findings_of(events + seen), seen, frozenset())
    assert not told.fails


def test_a_measurement_that_went_on_says_more_and_confirms_nothing() -> None:
    other = replace(SPOT, stratum="o=2")
    short = sighting(30)
    events = events_of(short, (), START)
    longer = replace(short, worse={SPOT: size(30), other: size(20)})
    said = events_of(longer, (), START + timedelta(seconds=1))
    assert not_yet_said(events_of(short, (), START + timedelta(seconds=1)), events) == []
    [found] = findings_of([*events, *not_yet_said(said, events)])
    assert (set(found.sizes), found.state) == ({SPOT, other}, FindingState.NEW)
    [confirmed] = findings_of([*events, *said, *events_of(sighting(30), [found], START + timedelta(seconds=2))])
    assert confirmed.state is FindingState.CONFIRMED


def test_what_lies_before_the_reference_is_another_finding() -> None:
    events = events_of(sighting(30), (), START)
    [event] = events_of(
        Sighting("s", "r1", "r2", frozenset({"r2"}), {SPOT: size(10)}, {}, frozenset(), frozenset()),
        findings_of(events),
        START + timedelta(seconds=1),
    )
    assert event.finding != FIRST


def narrower(percent: int | None) -> Sighting:
    """From a revision within the range of the first finding."""
    worse = {} if percent is None else {SPOT: size(percent)}
    return Sighting("narrower", "r0.5", "r1", frozenset({"r1"}), worse, {}, frozenset({SPOT} - set(worse)), frozenset())


@pytest.mark.parametrize("percent", [None, 6])
def test_a_part_of_its_range_tells_neither_that_a_finding_is_gone_nor_how_large_it_is(percent: int | None) -> None:
    events = events_of(sighting(30), (), START)
    events.append(Event(FIRST, EventKind.REPORTED, START + timedelta(seconds=1)))
    events += events_of(narrower(percent), findings_of(events), START + timedelta(seconds=2))
    [found] = findings_of(events)
    assert found.sizes == {SPOT: size(30)}
    assert found.state is not FindingState.RESOLVED
    assert found.unreported is None
    again = events_of(sighting(30), [found], START + timedelta(seconds=3))
    assert [event.what for event in again] == [EventKind.SEEN]


def test_what_is_larger_over_a_part_of_the_range_has_grown_once() -> None:
    events = events_of(sighting(10), (), START)
    happened = []
    for number, seen in enumerate((narrower(30), sighting(10), narrower(30), sighting(10))):
        made = events_of(seen, findings_of(events), START + timedelta(seconds=1 + number))
        happened += [event.what for event in made]
        events += made
    assert happened == [EventKind.GROWN, EventKind.SEEN, EventKind.SEEN, EventKind.SEEN]


def from_an_earlier_reference(percent: int, revision: str = "r1") -> Sighting:
    """Over a range that holds that of the first finding, with a stratum that the finding does not have."""
    sizes = {SPOT: size(percent), replace(SPOT, stratum="o=2"): size(40)}
    between = frozenset({"r0", "r1", revision})
    return Sighting("larger", "r-1", revision, between, sizes, {}, frozenset(), frozenset({FIRST}))


def test_a_range_that_begins_earlier_confirms_a_finding_and_leaves_its_size() -> None:
    events = events_of(sighting(10), (), START)
    events.append(Event(FIRST, EventKind.REPORTED, START + timedelta(seconds=1)))
    events += events_of(from_an_earlier_reference(24), findings_of(events), START + timedelta(seconds=2))
    first, other = findings_of(events)
    assert (first.id, first.state, first.sizes) == (FIRST, FindingState.CONFIRMED, {SPOT: size(10)})
    assert first.unreported is None
    assert (other.reference, other.revision, list(other.sizes)) == ("r-1", "r1", [replace(SPOT, stratum="o=2")])
    larger = events_of(from_an_earlier_reference(34, "r2"), findings_of(events), START + timedelta(seconds=3))
    assert [event.what for event in larger] == [EventKind.GROWN, EventKind.SEEN]


def test_a_stratum_that_a_finding_explains_is_no_finding_of_its_own() -> None:
    events = events_of(sighting(40), (), START)
    events += events_of(from_an_earlier_reference(42), findings_of(events), START + timedelta(seconds=1))
    [found] = findings_of(events)
    assert (found.state, found.sizes) == (FindingState.CONFIRMED, {SPOT: size(40)})


def test_a_later_revision_that_shows_no_growth_leaves_the_size() -> None:
    events = events_of(sighting(30), (), START)
    events += events_of(sighting(28, "r2", ("r1", "r2")), findings_of(events), START + timedelta(seconds=1))
    [found] = findings_of(events)
    assert (found.state, found.sizes) == (FindingState.CONFIRMED, {SPOT: size(30)})


def test_metrics_that_move_together_are_one_finding() -> None:
    seen = {SPOT: size(30), OTHER: size(10)}
    whole = Sighting("s", "r0", "r1", frozenset({"r1"}), seen, {}, frozenset(), frozenset())
    [event] = events_of(whole, (), START)
    assert set(finding_of([event]).sizes) == {SPOT, OTHER}


@given(st.permutations(range(4)))
def test_stores_that_are_merged_in_any_order_say_the_same(order: list[int]) -> None:
    events = events_of(sighting(30), (), START)
    events += events_of(sighting(36), findings_of(events), START + timedelta(seconds=3))
    events.append(Event(FIRST, EventKind.ACKNOWLEDGED, START + timedelta(seconds=2), author="me", reason="so"))
    events.append(Event(FIRST, EventKind.REPORTED, START + timedelta(seconds=4)))
    assert findings_of([events[place] for place in order]) == findings_of(events)


def test_who_acknowledges_says_who_they_are_and_why() -> None:
    with pytest.raises(InputError, match="says who they are, and why"):
        Event(FIRST, EventKind.ACKNOWLEDGED, START, author="me")
    with pytest.raises(InputError, match="time zone"):
        Event(FIRST, EventKind.REPORTED, datetime(2026, 1, 1))
    with pytest.raises(InputError, match="not within"):
        Size(1.5, 1.0, 1.2)
