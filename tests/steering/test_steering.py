"""Which batch a machine runs next, and why a batch waits."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.steering import STRATEGIES, Client, Queue, Requirements, SteeringDecision, choose, obstacle, unmet

ANY = Requirements()
ONE = Client("m1", "one", 2, ("files",))
TWICE = Requirements(replicas=2)
DISAGREE = "has results on which the machines that are there disagree; another one has to report"
TWO = Client("m2", "two", 8)

Row = tuple[int, str, Requirements, str | None]

requirements = st.sampled_from(
    [
        ANY,
        Requirements(machines=("one",)),
        Requirements(machines=("two",)),
        Requirements(cpus=4),
        Requirements(("files",), ("main",)),
    ]
)
waiting = st.lists(
    st.tuples(st.sampled_from(["s", "t", "u"]), requirements, st.sampled_from([None, "m1", "m2", "m3"])), max_size=12
).map(lambda rows: [(number, *row) for number, row in enumerate(rows, 1)])
under_way = st.dictionaries(st.sampled_from(["s", "t", "u"]), st.integers(0, 3))
clients = st.sampled_from([ONE, TWO])


def queues(rows: Iterable[Row]) -> tuple[Queue, ...]:
    """The queues of batches."""
    found: dict[tuple[str, Requirements, str | None], int] = {}
    for number, *same in rows:
        key = (same[0], same[1], same[2])
        found[key] = min(number, found.get(key, number))
    return tuple(Queue(head, *key) for key, head in found.items())


def test_a_higher_priority_and_an_earlier_date_come_first() -> None:
    wanted = [
        Requirements(),
        Requirements(due=200.0),
        Requirements(due=100.0),
        Requirements(priority=1),
        Requirements(priority=1, due=300.0),
    ]
    rows: list[Row] = [(number, f"s{number}", needed, None) for number, needed in enumerate(wanted, 1)]
    order, reasons = [], []
    while rows:
        decision = choose(queues(rows), {}, ONE)
        order.append(decision.batch)
        reasons.append(decision.reason)
        rows = [row for row in rows if row[0] != decision.batch]
    assert order == [5, 4, 3, 2, 1]
    assert reasons == ["highest priority"] * 2 + ["earliest due"] * 2 + ["released first"]


@pytest.mark.parametrize(("name", "expected"), [("fair", 2), ("oldest", 1), ("newest", 3)])
def test_strategies_order_what_a_machine_may_begin(name: str, expected: int) -> None:
    rows: list[Row] = [(1, "s", ANY, None), (2, "t", ANY, None), (3, "s", Requirements(cpus=2), None)]
    rows += [(4, "t", Requirements(cpus=4), None), (5, "t", ANY, "m2")]
    strategy = STRATEGIES[name]
    assert choose(queues(rows), {"s": 1}, ONE, strategy).batch == expected
    assert choose(queues([*rows, (6, "t", ANY, "m1")]), {}, ONE, strategy) == SteeringDecision(6, "begun here")


def chosen(rows: Iterable[Row], busy: dict[str, int], client: Client) -> int | None:
    """The choice as its description says it, batch by batch."""
    met = [row for row in rows if not unmet(row[2], client)]
    begun = [number for number, _, _, machine in met if machine == client.machine]
    free = [(busy.get(study, 0), number) for number, study, _, machine in met if machine is None]
    return min(begun) if begun else min(free)[1] if free else None


@given(waiting, under_way, clients)
def test_the_choice_is_as_it_is_described(rows: list[Row], busy: dict[str, int], client: Client) -> None:
    assert choose(queues(rows), busy, client).batch == chosen(rows, busy, client)


@given(waiting, under_way, clients, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(
    rows: list[Row], busy: dict[str, int], client: Client, random: Random
) -> None:
    mixed = list(rows)
    random.shuffle(mixed)
    assert choose(queues(mixed), busy, client) == choose(queues(rows), busy, client)


@given(waiting, clients)
def test_a_batch_that_is_chosen_has_no_obstacle(rows: list[Row], client: Client) -> None:
    number = choose(queues(rows), {}, client).batch
    able = [each for each, _, needed, machine in rows if not obstacle(needed, machine, {client.machine: client})]
    assert number in able if able else number is None


def test_studies_take_turns() -> None:
    rows: list[Row] = [(number, "s" if number <= 6 else "t", ANY, None) for number in range(1, 10)]
    busy, order = {"s": 0, "t": 0}, []
    for _ in range(6):
        number = choose(queues(rows), busy, ONE).batch
        [study] = [row[1] for row in rows if row[0] == number]
        rows = [row for row in rows if row[0] != number]
        busy[study] += 1
        order.append(study)
    assert order == ["s", "t"] * 3


def test_what_has_begun_here_comes_first() -> None:
    rows: list[Row] = [(1, "s", ANY, None), (2, "s", ANY, "m1")]
    assert choose(queues(rows), {}, ONE) == SteeringDecision(2, "begun here")
    assert choose(queues(rows), {}, TWO).batch == 1


def test_a_refusal_has_its_reason() -> None:
    assert choose(queues([]), {}, ONE) == SteeringDecision(None, "nothing is open")
    elsewhere = queues([(1, "s", ANY, "m2")])
    assert choose(elsewhere, {}, ONE) == SteeringDecision(None, "begun on another machine")
    large = queues([(1, "s", Requirements(cpus=4), None)])
    assert choose(large, {}, ONE) == SteeringDecision(None, "needs 4 CPUs")


@pytest.mark.parametrize(
    ("needed", "client", "reason"),
    [
        (ANY, ONE, ""),
        (Requirements(machines=("one", "two")), ONE, ""),
        (Requirements(machines=("two",)), ONE, "runs on two only"),
        (Requirements(cpus=2), ONE, ""),
        (Requirements(cpus=3), ONE, "needs 3 CPUs"),
        (Requirements(("files",), ("main",)), ONE, ""),
        (Requirements(("files",), ("main",)), TWO, "needs the files of revision main"),
    ],
)
def test_a_requirement_is_met_or_named(needed: Requirements, client: Client, reason: str) -> None:
    assert unmet(needed, client) == reason


@pytest.mark.parametrize(
    ("needed", "machine", "there", "reason"),
    [
        (ANY, None, [], "no worker is there"),
        (ANY, None, [ONE], ""),
        (Requirements(cpus=4), None, [ONE], "needs 4 CPUs"),
        (Requirements(cpus=4), None, [ONE, TWO], ""),
        (ANY, "m2", [ONE], "begun on a machine that has no worker now"),
        (ANY, "m2", [ONE, TWO], ""),
        (TWICE, None, [ONE, TWO], ""),
        (TWICE, None, [ONE], "needs 2 machines that agree, and 1 of them is there"),
    ],
)
def test_an_obstacle_is_of_all_machines(
    needed: Requirements, machine: str | None, there: list[Client], reason: str
) -> None:
    assert obstacle(needed, machine, {client.machine: client for client in there}) == reason


@pytest.mark.parametrize(
    ("reported", "there", "reason"),
    [
        ({"m1"}, [ONE], "needs 2 machines that agree, and 1 of them is there"),
        ({"m1"}, [ONE, TWO], ""),
        ({"m1"}, [TWO], ""),
        ({"m1", "m2"}, [ONE, TWO], DISAGREE),
        ({"m1", "m2"}, [ONE], DISAGREE),
        ({"m1", "gone"}, [ONE, TWO], ""),
    ],
)
def test_a_machine_that_reported_does_not_report_again(reported: set[str], there: list[Client], reason: str) -> None:
    assert obstacle(TWICE, None, {client.machine: client for client in there}, reported) == reason
