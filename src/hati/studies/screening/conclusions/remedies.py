"""What can be done about a screening's weaknesses: it depends on where its runs are from."""

from __future__ import annotations

import math

from msgspec import Struct

from hati.core import replace

_FOUR_TIMES = 4


class Remedies(Struct, frozen=True):
    """The advice in warnings, in words; empty where there is none.

    ``repeated_from`` is the budget from which on every configuration is run twice, None where none is; ``available``
    the number of available runs. ``failures`` says where failed runs are seen, ``fix_setting`` how to handle a setting
    with which all fail, ``lost`` what estimates an effect that was lost, ``more`` what four times the runs do against
    noise, ``unmodelled`` what they do against effects that a model lacks, and ``rest`` what keeps values from drifting:
    where it is empty, runs have no order in time.
    """

    repeated_from: int | None = None
    available: float = math.inf
    failures: str = "see `hati runs`"
    fix_setting: str = "fix or drop that setting, or forbid it by a constraint, then start afresh with --fresh"
    lost: str = "more of the planned runs are needed"
    more: str = "four times as many runs, or longer ones, halve that"
    unmodelled: str = "four times as many runs halve that, longer ones do not"
    rest: str = "run fewer other programs on the machine"

    def against_noise(self, runs: int) -> str:
        """The remedy that halves the noise of a study of ``runs`` runs; empty where the runs are not available."""
        return self.more if _FOUR_TIMES * runs <= self.available else ""


OF_PROGRAMS = Remedies()

OF_TABLES = Remedies(
    failures="",
    fix_setting="drop that setting from the space, or forbid it by a constraint",
    lost="if what the table does not have is not valid, say so by a constraint of the space",
    more="four times as many runs halve that",
    unmodelled="four times as many runs halve that",
    rest="",
)


def of_table(available: float, *, repeated_from: int | None, failures: str) -> Remedies:
    """The remedies where runs are looked up in a table with ``available`` runs."""
    return replace(OF_TABLES, available=available, repeated_from=repeated_from, failures=failures)


def advised(what: str, advice: str) -> str:
    """A weakness with the advice, where there is any."""
    return f"{what}; {advice}" if advice else what
