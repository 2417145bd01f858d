"""The request of ``hati compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Struct

from hati.core import (
    FlagField,
    InputError,
    Margin,
    Pairing,
    PositionalField,
    StatisticName,
    Stopping,
    fail_on,
    share,
)
from hati.core.requests import LARGEST_SEED
from hati.core.wording import listed

if TYPE_CHECKING:
    from hati.studies.comparison import Question


_SETTINGS = "OPTION=SETTING,..."
_USAGE = "write `hati compare BEFORE AFTER`, or `hati compare --before FILE... --after FILE...`"
Names = tuple[str, ...] | str
"""Several names, or one."""


class CompareRequest(Struct, frozen=True, kw_only=True):
    """Compare two samples: slower, faster, same or undecided.

    Samples come from files, several a side or one, or are measured now. An undecided comparison names the runs that
    would decide.
    """

    names: Annotated[
        tuple[str, ...],
        PositionalField("Files in any format that `hati import` reads, or benchmarks to measure now.", "BEFORE AFTER"),
    ] = ()
    before: Annotated[Names, FlagField("Files before: names, patterns or folders; repeatable.", metavar="FILE...")] = ()
    after: Annotated[Names, FlagField("Files after: names, patterns or folders; repeatable.", metavar="FILE...")] = ()
    benchmarks: Annotated[
        tuple[str, ...],
        FlagField(
            "Files: benchmarks to compare, by name or pattern such as '*sort*' [default: all]; repeatable.",
            metavar="NAME",
            name="--benchmark",
        ),
    ] = ()
    margin: Margin = 0.05
    alpha: Annotated[float, share("False discovery rate over all comparisons, such as 1%.")] = 0.01
    statistic: StatisticName = "auto"
    metric: Annotated[str | None, FlagField("Metric to compare [default: all].", metavar="NAME")] = None
    history: Annotated[
        tuple[str, ...],
        FlagField("Files: earlier samples, to estimate the variance between runs; repeatable.", metavar="FILE..."),
    ] = ()
    interval: Annotated[
        Literal["t", "bootstrap"],
        FlagField("Files: method of the interval of a ratio; verdicts always use Student's t."),
    ] = "t"
    within_process: Annotated[
        bool,
        FlagField("Files: decide by observations where each side is one process; valid for these only."),
    ] = False
    tests: Annotated[bool, FlagField("Files: add classical tests of run medians, and Shapiro-Wilk's of normality.")] = (
        False
    )
    fail_on: Annotated[str, fail_on("slower, faster (status 1), inconclusive (3)")] = "slower,inconclusive"
    settings: Annotated[str, FlagField("Benchmarks: settings of both sides.", metavar=_SETTINGS, name="--set")] = ""
    set_before: Annotated[str, FlagField("Benchmarks: settings of BEFORE only.", metavar=_SETTINGS)] = ""
    set_after: Annotated[str, FlagField("Benchmarks: settings of AFTER only.", metavar=_SETTINGS)] = ""
    stopping: Annotated[
        Stopping,
        FlagField("Benchmarks: stop as soon as it is decided, or at the fixed number of runs.", name="--stop"),
    ] = Stopping.ANYTIME
    pairing: Annotated[
        Pairing,
        FlagField(
            "Benchmarks: run both of a pair at the same time, each on its own core.",
            name="--duet",
            stands_for=Pairing.DUET,
        ),
    ] = Pairing.INTERLEAVED
    budget: Annotated[str, FlagField("Benchmarks: a number of runs, or a time such as 5m.", metavar="RUNS|TIME")] = "64"
    seed: Annotated[
        int,
        FlagField("Random seed, for the order in pairs or the bootstrap.", metavar="SEED", least=0, most=LARGEST_SEED),
    ] = 1

    @property
    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of each side: the two names, or those of --before and --after.

        Raises:
            InputError: where a side is empty, or names are on neither side.
        """
        before, after = _several(self.before), _several(self.after)
        if before or after:
            if self.names:
                raise InputError(
                    f"{listed(self.names)} {'is' if len(self.names) == 1 else 'are'} on neither side",
                    fix="name all files of a side right after --before or --after",
                )
            if not (before and after):
                raise InputError(f"{'--after' if before else '--before'} is missing", fix=_USAGE)
            return before, after
        if len(self.names) == 2:
            return self.names[:1], self.names[1:]
        missing = ("BEFORE and AFTER are", "AFTER is")
        count = len(self.names)
        what = f"{missing[count]} missing" if count < 2 else f"{count} files are on neither side"
        raise InputError(what, fix=_USAGE)

    def settings_of(self, own: str) -> str:
        """The settings of a side: those of both sides, then its ``own``."""
        return ",".join(filter(None, (self.settings, own)))

    @property
    def question(self) -> Question:
        """The question of each comparison.

        Raises:
            InputError: for a level, a margin or a statistic that is not valid.
        """
        from hati.studies.comparison import Question, parse_statistic

        return Question(self.alpha, self.margin, parse_statistic(self.statistic))


def _several(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names
