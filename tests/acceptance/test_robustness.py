"""Input that is almost right, damaged stores, kills and nasty programs: fewer than the benchmarks have."""

from __future__ import annotations

import pytest
from benchmarks import chaos, damaged_stores, kills, mutations, nasty

from postgres import PostgresServer

pytestmark = pytest.mark.acceptance


@pytest.mark.statistical  # nothing is measured, so that two may run at once
def test_input_that_is_almost_right_is_refused_with_a_message_or_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HATI_STORE", raising=False)
    text, held = mutations.result(300)
    assert held, text


@pytest.mark.statistical
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


def test_campaigns_of_workers_lose_nothing_and_count_nothing_twice() -> None:
    text, held = chaos.result(12)
    assert held, text


@pytest.mark.xdist_group("postgres")
def test_nor_do_they_where_postgresql_is_killed(postgres: PostgresServer) -> None:
    def restart() -> None:
        postgres.stop()
        postgres.start()

    text, held = chaos.result(12, chaos.Server(postgres.database, restart))
    assert held, text
