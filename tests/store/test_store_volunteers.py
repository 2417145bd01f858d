"""Volunteers, signed releases and artefacts in a store, SQLite's and PostgreSQL's."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from earlier import bring_back
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.store import Release, SqlStore, open_store
from hati.store import volunteers as module
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study
from postgres import PostgresServer

CLIENT = {"name": "one", "cpus": 2}


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """A new store."""
    place = str(tmp_path / "store.sqlite")
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        place = server.database()
    with closing(open_store(place)) as found:
        yield found


def test_a_token_is_known_by_its_hash_until_it_is_revoked(store: SqlStore) -> None:
    own = store.volunteers
    assert own.register("one", "m1", "secret", CLIENT)
    found = own.holder("secret")
    assert found is not None
    assert (found.name, found.machine, found.fingerprint, found.client) == ("one", "m1", "m1", CLIENT)
    assert own.holder("Secret") is None
    assert own.holder(module.token_hash("secret")) is None
    assert not own.register("one", "m1", "other", CLIENT), "a valid token of that name exists"
    own.update("m1", "m2", {**CLIENT, "cpus": 4})
    assert own.revoke("one")
    assert not own.revoke("one"), "it was done before"
    assert own.holder("secret") is None
    assert own.register("one", "m1", "third", CLIENT)
    assert own.holder("secret") is None
    assert [each.revoked for each in own.all()] == [None]
    with pytest.raises(InputError, match=r"no volunteer is named 'oen'.*did you mean 'one'"):
        own.revoke("oen")


def test_an_artefact_is_stored_once_and_read_in_parts(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PART", 10)
    own, content = store.volunteers, bytes(range(256)) * 3
    name = own.keep_artefact(content)
    assert name == hashlib.sha256(content).hexdigest() == own.keep_artefact(content)
    assert own.artefact_size(name) == len(content)
    assert own.artefact_size("0" * 64) is None
    for first, end in [(0, len(content)), (0, 1), (9, 11), (10, 20), (767, 768), (5, 5)]:
        assert b"".join(own.artefact(name, first, end)) == content[first:end], (first, end)


def test_an_artefact_that_is_too_large_is_refused(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_ARTEFACT", 100)
    store.volunteers.keep_artefact(bytes(100))
    with pytest.raises(InputError, match="sources"):
        store.volunteers.keep_artefact(bytes(101))


def test_the_last_signature_of_a_release_counts(store: SqlStore) -> None:
    own = store.volunteers
    artefact = own.keep_artefact(b"files")
    first = Release("k" * 64, "main", "r1", "{}", "s1", "p", artefact, 1.0)
    own.keep_release(first)
    own.keep_release(Release("l" * 64, "main", "r2", "{}", "s", "p", artefact, 3.0))
    second = Release("k" * 64, "main", "r1", "{}", "s2", "p", artefact, 2.0)
    own.keep_release(second)
    assert own.releases(["k" * 64, "x"]) == {"k" * 64: second}
    assert list(own.releases()) == ["k" * 64, "l" * 64]


@given(st.binary(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_any_range_of_an_artefact(content: bytes, first: int, length: int) -> None:
    with pytest.MonkeyPatch.context() as patch, closing(open_store("sqlite://")) as store:
        patch.setattr(module, "_PART", 7)
        name = store.volunteers.keep_artefact(content)
        end = min(first + length, len(content))
        assert b"".join(store.volunteers.artefact(name, min(first, end), end)) == content[min(first, end) : end]


def test_a_filled_store_of_the_last_schema_gets_the_tables(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    study = a_study()
    with closing(open_store(str(file))) as store:
        store.begin(study, METRICS, MACHINE)
        store.record(a_run(study))
    bring_back(file, "0009")
    with closing(open_store(str(file))) as store:
        assert len(store.evidence(study).runs) == 1
        assert store.volunteers.register("one", "m1", "secret", CLIENT)
        assert store.volunteers.holder("secret") is not None
