from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hati.core import InputError, Machine, MachineState, replace
from hati.subject import machine_identity, this_machine

MONDAY, TUESDAY = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
PROPERTIES = {"architecture": "x86_64", "cpus": "2", "kernel": "6.1", "name": "web1", "processor": "a CPU"}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The properties that this machine seems to have."""
    properties = dict(PROPERTIES)

    def seen(name: str = "") -> Machine:
        return Machine.of({**properties, **({"name": name} if name else {})})

    monkeypatch.setattr(machine_identity, "machine", seen)
    return properties


def test_a_changed_kernel_is_a_new_state_of_the_same_machine(here: dict[str, str], tmp_path: Path) -> None:
    first = this_machine(MONDAY, pytest.fail, tmp_path)
    here["kernel"] = "6.8"
    second = this_machine(TUESDAY, pytest.fail, tmp_path)
    assert second.id == first.id == first.fingerprint == Machine.of(PROPERTIES).id
    assert second.fingerprint == Machine.of(here).fingerprint != second.id
    assert [state.since for state in second.states] == [MONDAY, TUESDAY]
    assert first.states[0].changes(second.states[-1]) == ("kernel changed from 6.1 to 6.8",)
    assert this_machine(TUESDAY, pytest.fail, tmp_path) == second


def test_the_old_kernel_again_is_the_present_state_again(here: dict[str, str], tmp_path: Path) -> None:
    first = this_machine(MONDAY, pytest.fail, tmp_path)
    here["kernel"] = "6.8"
    this_machine(TUESDAY, pytest.fail, tmp_path)
    here["kernel"] = "6.1"
    again = this_machine(TUESDAY, pytest.fail, tmp_path)
    assert (again.id, again.fingerprint, len(again.fingerprints)) == (first.id, first.id, 2)


def test_a_host_of_another_name_is_another_machine_and_this_is_said(here: dict[str, str], tmp_path: Path) -> None:
    first = this_machine(MONDAY, pytest.fail, tmp_path)
    here["name"] = "clone"
    said: list[str] = []
    second = this_machine(TUESDAY, said.append, tmp_path)
    assert second.id != first.id
    assert said == [
        f"clone is counted as another machine than web1, whose record is in {tmp_path}; "
        "if it is one of them under a new name, set HATI_MACHINE=web1"
    ]
    assert this_machine(TUESDAY, pytest.fail, tmp_path) == second


def test_other_hardware_under_the_same_name_is_another_machine_and_this_is_said(
    here: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of two hosts that are both called runner, and share a home folder."""
    first = this_machine(MONDAY, pytest.fail, tmp_path)
    here["cpus"] = "64"
    said: list[str] = []
    second = this_machine(TUESDAY, said.append, tmp_path)
    assert (second.id, second.states) == (second.fingerprint, second.states[:1])
    assert said == [
        f"web1 is counted as another machine than that of this name whose record is in {tmp_path}, "
        "since cpus changed from 2 to 64; if it is the same one, set HATI_MACHINE=web1"
    ]
    assert this_machine(TUESDAY, pytest.fail, tmp_path) == second
    here["kernel"] = "6.8"
    assert this_machine(TUESDAY, pytest.fail, tmp_path).id == second.id
    monkeypatch.setenv("HATI_MACHINE", "web1")
    assert this_machine(TUESDAY, pytest.fail, tmp_path).id == first.id
    monkeypatch.delenv("HATI_MACHINE")
    here.update(PROPERTIES)
    assert this_machine(TUESDAY, pytest.fail, tmp_path).id == first.id


def test_a_record_that_has_hardware_already_keeps_it(here: dict[str, str], tmp_path: Path) -> None:
    """One of before hardware told machines apart."""
    this_machine(MONDAY, pytest.fail, tmp_path)
    two = Machine.of(PROPERTIES).in_state(Machine.of({**PROPERTIES, "cpus": "64"}).states[0])
    machine_identity._keep(tmp_path / "web1.json", two, new=False)
    here["cpus"] = "64"
    assert this_machine(TUESDAY, pytest.fail, tmp_path).id == Machine.of(PROPERTIES).id


def test_a_renamed_machine_keeps_its_identity_by_its_old_name(
    here: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = this_machine(MONDAY, pytest.fail, tmp_path)
    here["name"] = "renamed"
    monkeypatch.setenv("HATI_MACHINE", "web1")
    assert this_machine(TUESDAY, pytest.fail, tmp_path) == first


def test_a_given_name_is_the_identity_whatever_the_hardware(
    here: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HATI_MACHINE", "ci")
    first = this_machine(MONDAY, pytest.fail, tmp_path / "one")
    here.update(cpus="8", name="another-host")
    second = this_machine(TUESDAY, pytest.fail, tmp_path / "two")
    assert first.id == second.id == Machine.of({"name": "ci"}).id
    assert first.fingerprint != second.fingerprint
    assert (first.name, second.name) == ("ci", "ci")


def test_a_given_name_is_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HATI_MACHINE", "a b")
    with pytest.raises(InputError, match="is not a machine's name"):
        this_machine(MONDAY, pytest.fail, tmp_path)


def test_a_damaged_file_is_an_error_that_says_how_to_go_on(here: dict[str, str], tmp_path: Path) -> None:
    this_machine(MONDAY, pytest.fail, tmp_path)
    (tmp_path / "web1.json").write_text("{")
    with pytest.raises(InputError, match=r"web1\.json does not hold a machine's states") as error:
        this_machine(MONDAY, pytest.fail, tmp_path)
    assert "remove the file" in (error.value.fix or "")


def test_where_nothing_can_be_kept_a_warning_says_so(here: dict[str, str], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    said: list[str] = []
    assert this_machine(MONDAY, said.append, blocked).id == Machine.of(PROPERTIES).id
    assert len(said) == 1
    assert "set HATI_MACHINE" in said[0]


def test_nothing_need_be_kept_of_a_machine_that_was_given_a_name(
    here: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("HATI_MACHINE", "ci")
    assert this_machine(MONDAY, pytest.fail, blocked).id == Machine.of({"name": "ci"}).id


def test_the_first_of_two_processes_makes_the_file(here: dict[str, str], tmp_path: Path) -> None:
    first = this_machine(MONDAY, pytest.fail, tmp_path)
    late = Machine((MachineState(first.states[0].properties, TUESDAY),))
    assert machine_identity._keep(tmp_path / "web1.json", late, new=True) == first
    assert [file.name for file in tmp_path.iterdir()] == ["web1.json"]


def test_states_that_only_a_store_knows_belong_to_the_machine() -> None:
    mine = Machine.of(PROPERTIES)
    upgraded = Machine.of({**PROPERTIES, "kernel": "5.10", "memory": "3.8 GiB"})
    other = Machine.of({**PROPERTIES, "name": "web2"})
    joined = mine.with_states_of([upgraded, other])
    assert joined.fingerprints == (mine.id, upgraded.id)
    assert (joined.id, joined.fingerprint) == (mine.id, mine.id)
    assert mine.with_states_of([other]) is mine
    assert replace(mine).with_states_of([mine]) == mine
