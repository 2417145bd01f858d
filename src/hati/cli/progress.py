"""How a campaign is watched: a bar with the time left on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from hati.cli.output import console, say

if TYPE_CHECKING:
    from rich.progress import Progress

    from hati.campaign import Observer
    from hati.core import Evidence, Plan, Run, Study
    from hati.wiring.campaigns import Prepared
    from hati.wiring.study_types import StudyType

    Tell = Callable[[Evidence], str]
    """What is reported in addition, from what is known; nothing where it is empty."""

R = TypeVar("R", bound=Struct)
S = TypeVar("S", bound="Study[Any]")
C = TypeVar("C")

_SECONDS_BETWEEN_LINES = 5.0
_SHARE_BETWEEN_LINES = 0.2
"""Of what has passed: an hour takes some thirty lines."""
_TIMES_LONGER = 20.0
"""As what is told besides took to find out: so long it stays as it is."""


def make_watched(kind: StudyType[R, S, C], prepared: Prepared[S, C], request: R) -> C:
    """Make a campaign, or what is left of it, where its user sees how far it is."""
    known = prepared.finished and prepared.evidence().runs
    if known and (text := kind.nothing_left(prepared)):
        say(text)
    with progress(kind.title(prepared.study), partial(kind.progress, prepared.study)) as observe:
        return kind.make(prepared, request, say, observe)


class Position(Struct, frozen=True):
    """Where a campaign stands: runs made, of how many, and how many of those that were seen failed; what is known."""

    made: int
    total: int
    failed: int
    evidence: Callable[[], Evidence]


def _nothing(_: Evidence) -> str:
    return ""


class _Counter:
    """An observer that counts, and tells of each run where the campaign stands; one campaign may follow another."""

    def __init__(self, show: _Bar | _Lines) -> None:
        self._show = show
        self._study = ""
        self._plan: Plan | None = None
        self._made: list[Run] = []
        self._failed = 0

    def __call__(self, run: Run, evidence: Evidence, plan: Plan) -> None:
        from hati.core import Outcome, replace  # late: it loads NumPy, which a `hati --help` must not pay for

        if run.task.study != self._study:
            self._show.end()
            self._study, self._failed = run.task.study, 0
        if plan is not self._plan:
            self._plan, self._made = plan, []
        self._made.append(run)
        self._failed += run.outcome is not Outcome.DONE
        before, made = evidence.runs, self._made

        def known() -> Evidence:
            return replace(evidence, runs=(*before, *made))

        self._show(Position(len(before) + len(made), len(before) + plan.expected_total, self._failed, known))


@contextmanager
def progress(title: str, tell: Tell = _nothing) -> Iterator[Observer]:
    """Show a campaign's progress on standard error."""
    if not sys.stderr.isatty():
        lines = _Lines(title, tell)
        yield _Counter(lines)
        lines.end()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True)) as bar:
        drawn = _Bar(bar, title, tell)
        yield _Counter(drawn)
        drawn.end()


class _Bar:
    """Draws where a campaign stands; what is told besides is of the end at the end, and seldom found out before."""

    def __init__(self, bar: Progress, title: str, tell: Tell) -> None:
        self._bar = bar
        self._task = bar.add_task(title, total=None)
        self._title = title
        self._tell = tell
        self._told = _Seldom(tell)
        self._last: Position | None = None

    def __call__(self, position: Position) -> None:
        self._last = position
        self._draw(position, self._told(position))

    def end(self) -> None:
        if self._last is not None:
            self._draw(self._last, self._tell(self._last.evidence()))

    def _draw(self, position: Position, told: str) -> None:
        description = f"{self._title}{_aside(position, told)}"
        self._bar.update(self._task, completed=position.made, total=position.total, description=description)


def _aside(position: Position, told: str) -> str:
    failed = f", {position.failed} failed" if position.failed else ""
    return f"{failed}, {told}" if told else failed


class _Seldom:
    """Tells anew when that has become cheap beside the time since."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._again = 0.0
        self._told = ""

    def __call__(self, position: Position) -> str:
        began = time.monotonic()
        if began >= self._again:
            self._told = self._tell(position.evidence())
            now = time.monotonic()
            self._again = now + _TIMES_LONGER * (now - began)
        return self._told


class _Lines:
    """Says a line now and then, and one at the end."""

    def __init__(self, title: str, tell: Tell) -> None:
        self._title = title
        self._tell = tell
        self._said = self._began = time.monotonic()
        self._last: Position | None = None

    def __call__(self, position: Position) -> None:
        self._last = position
        now = time.monotonic()
        if now - self._said >= max(_SECONDS_BETWEEN_LINES, _SHARE_BETWEEN_LINES * (now - self._began)):
            self._said = now
            self._say(position)

    def end(self) -> None:
        if self._last is not None:
            self._say(self._last)

    def _say(self, position: Position) -> None:
        aside = _aside(position, self._tell(position.evidence()))
        say(f"{self._title}: {position.made} of {position.total} runs{aside}")


_MEGABYTE = 1_000_000
_LARGE = 20 * _MEGABYTE
"""From which size on it is shown how much of a file has been read."""


@contextmanager
def reading_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show on standard error how much of a large file has been read."""
    if not sys.stderr.isatty():
        yield _Megabytes(title)
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, visible=False)

        def show(read: int, size: int) -> None:
            bar.update(task, completed=read, total=size, visible=size >= _LARGE)

        yield show


class _Megabytes:
    """Says a line now and then of how much has been read."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._said = time.monotonic()

    def __call__(self, read: int, size: int) -> None:
        if time.monotonic() - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = time.monotonic()
            say(f"{self._title}: {read // _MEGABYTE} of {size // _MEGABYTE} MB")


@contextmanager
def steps_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show on standard error how many steps of a computation are done, where it takes long."""
    if not sys.stderr.isatty():
        yield _Steps(title)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, steps: bar.update(task, completed=done, total=steps)


class _Steps:
    """Says a line now and then of how many steps are done."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._said = time.monotonic()

    def __call__(self, done: int, steps: int) -> None:
        if time.monotonic() - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = time.monotonic()
            say(f"{self._title}: {done} of {steps} steps")
