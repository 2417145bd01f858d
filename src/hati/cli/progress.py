"""Progress of a campaign: a bar with the time left on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from hati.cli.output import console, say

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

    from hati.campaign import Observer
    from hati.core import Evidence, Plan, Run, Study
    from hati.wiring.campaigns import Prepared
    from hati.wiring.study_types import StudyType

    Aside = Callable[[Evidence], str]
    """An additional report from the evidence; empty for none."""

R = TypeVar("R", bound=Struct)
S = TypeVar("S", bound="Study[Any]")
C = TypeVar("C")

_SECONDS_BETWEEN_LINES = 5.0
_SHARE_BETWEEN_LINES = 0.2
"""The time between lines, as a fraction of the elapsed time: an hour takes about thirty lines."""
_TIMES_LONGER = 20.0
"""How long an additional report stays, in multiples of the time that it took to compute."""


def make_watched(kind: StudyType[R, S, C], prepared: Prepared[S, C], request: R) -> C:
    """Run a campaign, or the rest of it, and show its progress."""
    known = prepared.finished and prepared.evidence().runs
    if known and (text := kind.nothing_left(prepared)):
        say(text)
    with progress(kind.title(prepared.study), partial(kind.progress, prepared.study)) as observe:
        return kind.make(prepared, request, say, observe)


class Position(Struct, frozen=True):
    """The position of a campaign: runs made, the expected total, failures among the runs seen, and the evidence."""

    made: int
    total: int
    failed: int
    evidence: Callable[[], Evidence]


def _nothing(_: Evidence) -> str:
    return ""


class _Counter:
    """An observer that counts runs, and shows the position after each; one campaign may follow another.

    Pilot runs and runs that isolate failures are counted apart from those of the design that they prepare.
    """

    def __init__(self, show: _Bar | _Lines) -> None:
        self._show = show
        self._counted = ("", False)
        self._plan: Plan | None = None
        self._made: list[Run] = []
        self._before = 0
        self._failed = 0

    def __call__(self, run: Run, evidence: Evidence, plan: Plan) -> None:
        from hati.core import Outcome, prepares, replace  # late: it loads NumPy, which a `hati --help` must not pay for

        preparing = prepares(run.task)
        changed = (run.task.study, preparing) != self._counted
        if changed:
            self._show.end()
            self._counted, self._failed = (run.task.study, preparing), 0
        if plan is not self._plan:
            self._plan, self._made, changed = plan, [], True
        if changed:  # else the evidence is the same: counting it after each run would take quadratic time
            self._before = sum(prepares(each.task) == preparing for each in evidence.runs)
        self._made.append(run)
        self._failed += run.outcome is not Outcome.DONE
        made, before = self._made, self._before

        def known() -> Evidence:
            return replace(evidence, runs=(*evidence.runs, *made))

        self._show(Position(before + len(made), before + plan.expected_total, self._failed, known))


@contextmanager
def progress(title: str, report: Aside = _nothing) -> Iterator[Observer]:
    """Show a campaign's progress on standard error."""
    if not sys.stderr.isatty():
        lines = _Lines(title, report)
        yield _Counter(lines)
        lines.end()
        return
    from rich.progress import MofNCompleteColumn

    with _bar(MofNCompleteColumn(), transient=False) as bar:
        drawn = _Bar(bar, title, report)
        yield _Counter(drawn)
        drawn.end()


def _bar(amount: ProgressColumn, *, transient: bool) -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    return Progress(*columns, console=console(stderr=True), transient=transient)


class _Bar:
    """Draws the position of a campaign; the additional report is computed rarely, and once more at the end."""

    def __init__(self, bar: Progress, title: str, report: Aside) -> None:
        self._bar = bar
        self._task = bar.add_task(title, total=None)
        self._title = title
        self._report = report
        self._reported = _Seldom(report)
        self._last: Position | None = None

    def __call__(self, position: Position) -> None:
        self._last = position
        self._draw(position, self._reported(position))

    def end(self) -> None:
        if self._last is not None:
            self._draw(self._last, self._report(self._last.evidence()))

    def _draw(self, position: Position, reported: str) -> None:
        description = f"{self._title}{_aside(position, reported)}"
        self._bar.update(self._task, completed=position.made, total=position.total, description=description)


def _aside(position: Position, reported: str) -> str:
    failed = f", {position.failed} failed" if position.failed else ""
    return f"{failed}, {reported}" if reported else failed


class _Seldom:
    """Computes a report again only once its cost is small compared with the time since."""

    def __init__(self, report: Aside) -> None:
        self._report = report
        self._again = 0.0
        self._reported = ""

    def __call__(self, position: Position) -> str:
        began = time.monotonic()
        if began >= self._again:
            self._reported = self._report(position.evidence())
            now = time.monotonic()
            self._again = now + _TIMES_LONGER * (now - began)
        return self._reported


class _Lines:
    """Prints a line at intervals, and one at the end."""

    def __init__(self, title: str, report: Aside) -> None:
        self._title = title
        self._report = report
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
        aside = _aside(position, self._report(position.evidence()))
        say(f"{self._title}: {position.made} of {position.total} runs{aside}")


_MEGABYTE = 1_000_000
_LARGE = 20 * _MEGABYTE
"""The size of a file from which the progress of reading is shown."""


@contextmanager
def reading_progress() -> Iterator[Callable[[int, int], None]]:
    """Show on standard error how much of a large file has been read."""
    if not sys.stderr.isatty():
        yield _Amounts("reading", "MB", _MEGABYTE)
        return
    from rich.progress import DownloadColumn

    with _bar(DownloadColumn(), transient=True) as bar:
        task = bar.add_task("reading", total=None, visible=False)

        def show(read: int, size: int) -> None:
            bar.update(task, completed=read, total=size, visible=size >= _LARGE)

        yield show


class _Amounts:
    """Prints at intervals how many of all units are done, a unit being ``size`` of what is counted."""

    def __init__(self, title: str, unit: str, size: int = 1) -> None:
        self._title, self._unit, self._size = title, unit, size
        self._said = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = time.monotonic()
            say(f"{self._title}: {done // self._size} of {total // self._size} {self._unit}")


@contextmanager
def steps_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show on standard error how many steps of a long computation are done."""
    if not sys.stderr.isatty():
        yield _Amounts(title, "steps")
        return
    from rich.progress import MofNCompleteColumn

    with _bar(MofNCompleteColumn(), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, steps: bar.update(task, completed=done, total=steps)


_SLOW = 2.0
"""The seconds after which it is said what takes so long, on a terminal."""


@contextmanager
def announced_if_slow(doing: str) -> Iterator[None]:
    """Say on standard error what is being done, once it takes seconds."""
    late = threading.Timer(_SLOW if sys.stderr.isatty() else _SECONDS_BETWEEN_LINES, say, [doing])
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()
        late.join()
