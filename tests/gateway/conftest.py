"""A signed project, and its server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from volunteers import PROJECT, SUBJECT, Served, hati, withdraw_all


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose benchmark volunteers can run."""
    folder = tmp_path_factory.mktemp("lent")
    (folder / "hati.toml").write_text(PROJECT)
    (folder / "subject.py").write_text(SUBJECT)
    return folder


@pytest.fixture(scope="session")
def store(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the signed release of the project."""
    folder = tmp_path_factory.mktemp("server")
    made = hati("grid", "key", "--out", str(folder / "owner"))
    assert made.returncode == 0, made.stderr
    signed = hati("grid", "sign", str(project), "--key", str(folder / "owner"), "--store", str(folder / "store.sqlite"))
    assert signed.returncode == 0, signed.stderr
    return folder / "store.sqlite"


@pytest.fixture(scope="session")
def public(store: Path) -> str:
    """The owner's public key."""
    return (store.parent / "owner.pub").read_text().strip()


@pytest.fixture(scope="session")
def served(project: Path, store: Path) -> Iterator[Served]:
    """The server of the project."""
    with closing(Served(project, store)) as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test, no machine has a batch in the common store, and none waits there."""
    common = request.getfixturevalue("served").store if "served" in request.fixturenames else None
    yield
    if common is not None:
        withdraw_all(common)
