"""Input that is almost right, damaged stores, kills and nasty programs: fewer than the benchmarks have."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from benchmarks import chaos, damaged_stores, kills, mutations, nasty

from hati.core import replace
from hati.steering import choose
from hati.store import open_store
from hati.testing.conformance import a_run, a_study
from ledgers import ANY, a_batch, a_client
from postgres import PostgresServer

pytestmark = pytest.mark.acceptance


def test_input_that_is_almost_right_is_refused_with_a_message_or_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HATI_STORE", raising=False)
    text, held = mutations.result(300)
    assert held, text


def test_a_damaged_store_is_an_error_or_says_what_it_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HATI_STORE", raising=False)
    text, held = damaged_stores.result(60)
    assert held, text


def test_commands_that_are_killed_go_on_and_come_to_the_same_end() -> None:
    text, held = kills.result(2 * len(kills.COMMANDS))
    assert held, text


def test_nasty_programs_fail_or_are_measured_and_leave_nothing() -> None:
    text, held = nasty.result(nasty.SUBJECTS[::4])
    assert held, text


def test_chaos_sees_what_is_lost_counted_twice_or_overlaps(tmp_path: Path) -> None:
    (tmp_path / "one.log").write_text("begin 7 100\nbegin 8 150\nend 7 200\nbegin 9 300\nend 9 400\n")
    assert list(chaos.overlaps(tmp_path)) == ["1 runs of machine one overlapped"]
    tasks = [str(number) for number in range(chaos.RUNS)]
    assert list(chaos.counted_twice(tasks, tasks)) == list(chaos.lost(tasks, tasks, 0)) == []
    assert list(chaos.counted_twice([*tasks, "0"], [*tasks, "1"])) == [
        "1 tasks counted twice",
        "1 results accepted twice",
    ]
    assert list(chaos.lost(tasks[1:], tasks, 0)) == [
        f"{chaos.RUNS - 1} tasks, not {chaos.RUNS}",
        "1 accepted results have no run",
    ]


def test_campaigns_under_faults_are_kept_in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = chaos.Disturbed({"kill": 2}, 1, 0, 0, ())
    monkeypatch.setattr(chaos, "disturbed", lambda *_: made)
    assert list(chaos.campaigns(4, None, tmp_path / "new" / "folder", "store")) == [made, made]
    monkeypatch.delattr(chaos, "disturbed")
    with (tmp_path / "new" / "folder" / "campaigns-store.jsonl").open("a") as file:
        file.write("{'faults")  # its writer was killed
    for _ in range(2):
        kept = chaos.campaigns(4, None, tmp_path / "new" / "folder", "store")
        assert [each.faults for each in kept] == [made.faults, made.faults]


def test_a_campaign_that_has_no_end_is_not_wrong(tmp_path: Path) -> None:
    place = str(tmp_path / "store.sqlite")
    with closing(open_store(place)) as store:
        for repetition in range(2):
            store.ledger.release(a_batch(repetition), ANY)
        progress = chaos.Progress(place, 0.0)
        assert not progress.stalled(chaos.STALLED_SECONDS - 1.0)
        lease = store.ledger.claim("one", a_client("one"), choose)
        assert lease is not None
        store.ledger.accept(lease, replace(a_run(a_study()), task=lease.batch.members[0].task))
        assert not progress.stalled(chaos.STALLED_SECONDS + 5.0)
        assert not progress.stalled(2 * chaos.STALLED_SECONDS)
        assert progress.stalled(2 * chaos.STALLED_SECONDS + 10.0)


def test_what_has_no_end_is_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = chaos.Disturbed({"worker killed": 2}, 25, 0, 0, (), "no new result for 3,900 s: 25 of 90 runs")
    monkeypatch.setattr(chaos, "disturbed", lambda *_: waits)
    text, held = chaos.result(2)
    assert not held
    assert "0 wrong, 1 campaigns without an end." in text
    assert "- no new result for 3,900 s: 25 of 90 runs" in text


def test_campaigns_of_workers_lose_nothing_and_count_nothing_twice() -> None:
    text, held = chaos.result(12)
    assert held, text


@pytest.mark.parametrize("by", ["scheduler", "volunteers"])
def test_nor_do_those_of_a_cluster_and_of_volunteers(monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    monkeypatch.setattr(chaos, "RUNS", 30)
    text, held = chaos.result(6, by=by)
    assert held, text


@pytest.mark.xdist_group("postgres")
def test_nor_do_they_where_postgresql_is_killed(postgres: PostgresServer) -> None:
    def restart() -> None:
        postgres.stop()
        postgres.start()

    text, held = chaos.result(12, chaos.Server(postgres.database, restart))
    assert held, text
