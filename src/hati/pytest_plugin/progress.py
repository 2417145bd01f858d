"""The progress of measuring, on pytest's terminal."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from hati.core import Evidence, Plan, Run, replace
from hati.core.wording import counted
from hati.studies.assertion import Assertion

_FIRST_LINE = 2.0
_BETWEEN_LINES = 5.0
"""In seconds, if lines cannot be overwritten."""
_BETWEEN_DRAWINGS = 0.2


class Display:
    """Writes to the terminal, although pytest captures the output of tests; writes nothing with ``-q``."""

    def __init__(self, config: pytest.Config) -> None:
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        self._terminal = terminal if self._capture is not None and config.get_verbosity() >= 0 else None
        self._drawn = False
        self.redraws = bool(self._terminal and self._terminal.isatty)

    def say(self, text: str) -> None:
        """Write a line."""
        self._write(lambda terminal: (terminal.ensure_newline(), terminal.write_line(f"hati: {text}")))

    def draw(self, text: str) -> None:
        """Overwrite the current line."""
        self._drawn = True
        self._write(lambda terminal: (terminal.rewrite(f"hati: {text}", erase=True), terminal.flush()))

    def end(self) -> None:
        """End the line that was overwritten."""
        if self._drawn:
            self._write(lambda terminal: terminal.write("\n"))

    def _write(self, writing: Callable[..., object]) -> None:
        if self._terminal is not None and self._capture is not None:
            with self._capture.global_and_fixture_disabled():
                writing(self._terminal)


class MeasuringProgress:
    """An observer that shows the runs so far, and the number of formulas that they decide."""

    def __init__(self, study: Assertion, display: Display, clock: Callable[[], float] = time.monotonic) -> None:
        self._study, self._display, self._clock = study, display, clock
        self._began = clock()
        self._next = self._began + (0.0 if display.redraws else _FIRST_LINE)
        self._plan: Plan | None = None
        self._runs: list[Run] = []

    def __call__(self, run: Run, evidence: Evidence, plan: Plan) -> None:
        """Add a run."""
        if plan is not self._plan:
            self._plan, self._runs = plan, []
        self._runs.append(run)
        if self._clock() >= self._next:
            self._show(replace(evidence, runs=(*evidence.runs, *self._runs)))

    def _show(self, evidence: Evidence) -> None:
        elapsed = self._clock() - self._began
        decided = f"{self._study.decided(evidence)} of {counted(len(self._study.requirements), 'formula')} decided"
        text = f"{counted(len(evidence.runs), 'run')}, {decided}, {elapsed:.0f} s"
        (self._display.draw if self._display.redraws else self._display.say)(text)
        now = self._clock()
        cost = now - self._began - elapsed
        least = _BETWEEN_DRAWINGS if self._display.redraws else _BETWEEN_LINES
        self._next = now + max(least, 20 * cost)
