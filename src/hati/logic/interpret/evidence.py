"""What is told of one relation."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from hati.core import InputError
from hati.logic.interpret.verdict import Verdict


class Scale(StrEnum):
    """What an estimate is: the left mean over the right one; less it; or the left mean, where the right is a limit."""

    RATIO = "ratio"
    DIFFERENCE = "difference"
    MEAN = "mean"


class Judged(Protocol):
    """A formula's verdict, whether of one relation or of several."""

    @property
    def verdict(self) -> Verdict:
        """Of the whole."""
        ...

    @property
    def p_holds(self) -> float:
        """The p-value of its being violated: small where it is shown to hold."""
        ...

    @property
    def p_violated(self) -> float:
        """The p-value of its holding: small where it is shown to be violated."""
        ...


class Evidence(Struct, frozen=True):
    """A relation's verdict and what it rests on.

    ``estimate`` is on the ``scale``, in the metric's unit unless that is a ratio; ``interval`` is of confidence
    1 - 2 alpha, so that each end is where a one-sided test at alpha ends; ``detectable`` is how far beyond its bound
    the truth must be, on the scale, to be told in 80 % of cases. ``runs`` are those of both sides, 0 of a limit, and
    ``runs_needed`` how many of each decide with 80 % power if the estimate and the noise hold. Interval, detectable and
    runs needed are None where there is no such number. ``p_holds`` and ``p_violated`` are as ``Judged`` says;
    ``remembered`` is how many earlier runs told of the noise; ``remark`` says why there is no verdict where nothing was
    tested.

    Raises:
        InputError: for p-values that are none.
    """

    verdict: Verdict
    scale: Scale
    estimate: float
    runs: tuple[int, int]
    p_holds: float = 1.0
    p_violated: float = 1.0
    interval: tuple[float, float] | None = None
    detectable: float | None = None
    runs_needed: int | None = None
    remembered: int = 0
    remark: str = ""

    def __post_init__(self) -> None:
        if not (0.0 <= self.p_holds <= 1.0 and 0.0 <= self.p_violated <= 1.0):
            raise InputError(f"no p-values: {self.p_holds} and {self.p_violated}")
