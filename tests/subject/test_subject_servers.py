"""What a server's log says why, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from hati.subject.running import servers
from hati.subject.running.programs import Masking
from hati.subject.running.servers import ServerLog


@pytest.mark.parametrize("shown", range(4, 12))
def test_no_part_of_a_secret_is_left_where_the_servers_own_log_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: int
) -> None:
    secret, rest = "s3cret-token", " error: refused\n"
    monkeypatch.setattr(servers, "_LONGEST", shown + len(rest))
    own = tmp_path / "own.log"
    own.write_text(f"{'x' * 50}{secret}{rest}")
    log = ServerLog.begin(tmp_path / "logs", "a", own, Masking((secret,)))
    log.kept.write_text("started\n")
    assert log.why() == "*** error: refused"
