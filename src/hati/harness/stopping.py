"""The rules when to stop measuring pairs, and the tests of their differences."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, Stopping
from hati.stats import (
    anytime_critical,
    anytime_e_values,
    fewest_sign_bets,
    fewest_signs,
    sign_bet_e_values,
    sign_bets,
    t_quantile,
    t_two_sided,
)


class StoppingRule(Protocol):
    """A test of differences of pairs in the order in which they were measured."""

    @property
    def kind(self) -> Stopping:
        """The kind of rule."""
        ...

    def fewest(self, alpha: float) -> int:
        """The number of pairs before which nothing is tested."""
        ...

    def e_value(self, values: FloatArray) -> float | None:
        """The evidence against a mean of zero; None where the rule has none."""
        ...

    def p_value(self, values: FloatArray, alpha: float) -> float:
        """The p-value of a mean of zero; needs at least ``fewest`` values, not all zero."""
        ...

    def strongest(self, values: FloatArray, alpha: float) -> int:
        """The number of leading values that the p-value is computed from."""
        ...

    def critical(self, size: int, alpha: float) -> float:
        """The size of Student's t statistic beyond which zero is no longer in the interval."""
        ...

    def one_sided(self, size: int, alpha: float) -> float:
        """The same for each end of the interval individually, to show that the mean lies between two bounds."""
        ...


class FixedSize(Struct, frozen=True):
    """A single Student's t-test, after all pairs."""

    @property
    def kind(self) -> Stopping:
        """Fixed."""
        return Stopping.FIXED

    def fewest(self, alpha: float) -> int:  # noqa: ARG002  # as other rules are asked
        """Two: one difference has no variance."""
        return 2

    def e_value(self, values: FloatArray) -> float | None:  # noqa: ARG002  # as other rules are asked
        """None: the rule has no e-value."""
        return None

    def p_value(self, values: FloatArray, alpha: float) -> float:  # noqa: ARG002  # as other rules are asked
        """The p-value of Student's two-sided test."""
        error = float(np.std(values, ddof=1)) / len(values) ** 0.5
        statistic = float(np.mean(values)) / error if error > 0.0 else np.inf
        return float(t_two_sided(np.array([statistic]), len(values) - 1)[0])

    def strongest(self, values: FloatArray, alpha: float) -> int:  # noqa: ARG002  # as other rules are asked
        """The number of all values."""
        return len(values)

    def critical(self, size: int, alpha: float) -> float:
        """Student's quantile."""
        return t_quantile(1.0 - alpha / 2.0, size - 1)

    def one_sided(self, size: int, alpha: float) -> float:
        """Student's quantile of two one-sided tests (Schuirmann 1987)."""
        return t_quantile(1.0 - alpha, size - 1)


class AnytimeValid(Struct, frozen=True):
    """The anytime-valid t-test after every pair: stopping when it has decided adds no error.

    It looks from the number of pairs on whose signs alone could be significant. Before that, nearly equal values, as
    from two modes, can have an infinite t statistic by chance.
    """

    @property
    def kind(self) -> Stopping:
        """Anytime-valid."""
        return Stopping.ANYTIME

    def fewest(self, alpha: float) -> int:
        """Eight at 1 %, six at 5 %."""
        return fewest_signs(alpha)

    def e_value(self, values: FloatArray) -> float | None:
        """The e-value after the last value."""
        return float(anytime_e_values(values)[-1])

    def p_value(self, values: FloatArray, alpha: float) -> float:
        """The inverse of the largest e-value of any look: at most alpha in alpha of all campaigns."""
        return min(1.0, 1.0 / float(anytime_e_values(values)[self.fewest(alpha) - 1 :].max()))

    def strongest(self, values: FloatArray, alpha: float) -> int:
        """The number of values at the look with the largest e-value."""
        least = self.fewest(alpha)
        return least + int(np.argmax(anytime_e_values(values)[least - 1 :]))

    def critical(self, size: int, alpha: float) -> float:
        """The critical value of the confidence sequence."""
        return anytime_critical(size, alpha)

    def one_sided(self, size: int, alpha: float) -> float:
        """The critical value of the confidence sequence: at most alpha of all campaigns leave it, on either side."""
        return anytime_critical(size, alpha)


class SignBets(Struct, frozen=True):
    """Bets on the signs of differences after every pair, valid for any noise since the order of a pair is drawn."""

    def fewest(self, alpha: float) -> int:
        """Nine at 1 %, seven at 5 %."""
        return fewest_sign_bets(alpha)

    def p_value(self, values: FloatArray, alpha: float) -> float:
        """The inverse of the largest e-value of any look: at most alpha in alpha of all campaigns."""
        return min(1.0, 1.0 / float(sign_bet_e_values(values)[self.fewest(alpha) - 1 :].max()))

    def strongest(self, values: FloatArray, alpha: float) -> float:
        """The direction of the look with the largest e-value: above zero for positive differences."""
        least = self.fewest(alpha) - 1
        look = least + int(np.argmax(sign_bet_e_values(values)[least:]))
        up, down = sign_bets(values)
        return float(up[look] - down[look])


RULES: dict[Stopping, StoppingRule] = {Stopping.FIXED: FixedSize(), Stopping.ANYTIME: AnytimeValid()}
