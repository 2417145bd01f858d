"""Programs that tests interrupt."""

from __future__ import annotations

import signal


def heeding_signals() -> None:
    """Tests may run in the background, where a shell or nohup has signals ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
