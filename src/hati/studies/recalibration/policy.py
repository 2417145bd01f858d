"""When a project wants its important options to be determined again."""

from __future__ import annotations

from msgspec import Struct

from hati.core import InputError

TOLERANCE = 0.05


class Policy(Struct, frozen=True):
    """What makes a recalibration due, each by itself; None, or False: it does not.

    ``checks`` and ``days`` are counted from the last screening. ``residuals`` is the level of the test whether its
    model still predicts, to within ``tolerance``, a fraction. ``options``: one was added or removed, or its settings
    changed.

    Raises:
        InputError: for a policy of nothing, or of values that mean nothing.
    """

    checks: int | None = None
    days: float | None = None
    residuals: float | None = None
    options: bool = False
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if self.checks is not None and self.checks < 1:
            raise InputError(f"every {self.checks} checks is never", fix="write 1 or more")
        if self.days is not None and not 0.0 < self.days < float("inf"):
            raise InputError(f"every {self.days:g} days is never", fix="write a number above 0")
        if self.residuals is not None and not 0.0 < self.residuals < 1.0:
            raise InputError(
                f"a level is a share between 0 and 1, not {self.residuals:g}", fix='write it as "1%" or 0.01'
            )
        if not 0.0 <= self.tolerance < float("inf"):
            raise InputError(f"a tolerance is a fraction from 0 on, not {self.tolerance:g}", fix='write it as "5%"')
        if (self.checks, self.days, self.residuals, self.options) == (None, None, None, False):
            raise InputError(
                "nothing makes a recalibration due", fix='say what does, as in: days = 30, residuals = "1%"'
            )
