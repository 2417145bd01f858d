"""A server for each test, and a client in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from joining import Joining
from volunteer_server import Script, certificate, serving


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def joining(tmp_path: Path, certificates: tuple[Path, Path]) -> Iterator[Joining]:
    script = Script()
    with serving(script, certificates) as url:
        yield Joining(url, script, certificates[0], tmp_path)
