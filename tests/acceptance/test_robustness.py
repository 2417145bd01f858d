"""Input that is almost right, damaged stores, kills and nasty programs: fewer than the benchmarks have."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import chaos, damaged_stores, kills, mutations, nasty

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
    assert list(chaos.miscounted(tasks, tasks, 0)) == []
    assert list(chaos.miscounted([*tasks, "0"], [*tasks, "1"], 0)) == [
        "1 tasks counted twice",
        "1 results accepted twice",
    ]
    assert list(chaos.miscounted(tasks[1:], tasks, 0)) == [
        f"{chaos.RUNS - 1} tasks, not {chaos.RUNS}",
        "1 accepted results have no run",
    ]


def test_campaigns_under_faults_are_kept_in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = chaos.Disturbed({"kill": 2}, 1, 0, 0, ())
    monkeypatch.setattr(chaos, "disturbed", lambda *_: made)
    assert list(chaos.campaigns(4, None, tmp_path / "new" / "folder", "store")) == [made, made]
    monkeypatch.delattr(chaos, "disturbed")
    kept = chaos.campaigns(4, None, tmp_path / "new" / "folder", "store")
    assert [each.faults for each in kept] == [made.faults, made.faults]


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
