"""The program where packages are installed."""

from __future__ import annotations

import pytest
from packages import Hati

from forked import Server


@pytest.fixture
def hati(hati_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Hati:
    """Runs the program, each time in a process of its own."""
    return Hati(hati_server, tmp_path_factory.mktemp("results"))
