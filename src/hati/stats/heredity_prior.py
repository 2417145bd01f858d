"""How likely sets of effects are before anything is measured: interactions come with their parents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray, InputError
from hati.stats.contrasts import Term

Mask = NDArray[np.bool_]


class HeredityPrior:
    """Prior probabilities of effects given the main effects (Chipman 1996).

    A main effect is active with probability ``activity``; an interaction as likely where the main effects of all its
    options are active, and ``heredity`` times as likely for each that is not; every order above the second costs the
    same factor once more.

    Raises:
        InputError: for a probability outside (0, 1/2], or a factor outside (0, 1].
    """

    def __init__(self, terms: Sequence[Term], activity: float, heredity: float) -> None:
        if not (0.0 < activity <= 0.5 and 0.0 < heredity <= 1.0):
            raise InputError("an effect's prior probability is above 0 and at most 1/2, heredity above 0 and at most 1")
        options = 1 + max((max(term) for term in terms), default=0)
        self._parents = np.zeros((len(terms), options))
        for place, term in enumerate(terms):
            if len(term) > 1:
                self._parents[place, list(term)] = 1.0
        orders = np.array([len(term) for term in terms])
        self._sizes = self._parents.sum(axis=1)
        self._higher = np.maximum(orders - 2, 0)
        self._main = np.array([term[0] if len(term) == 1 else -1 for term in terms])
        steps = 1 + 2 * int(orders.max(initial=1))
        rates = activity * heredity ** np.arange(steps, dtype=np.float64)
        self._inert = np.log1p(-rates)
        self._odds = np.log(rates) - self._inert

    def logarithm(self, active: Mask) -> float:
        """The logarithm of the probability of a set of effects; ``active`` has shape (terms,)."""
        steps = self._steps(active)
        return float(self._inert[steps].sum() + self._odds[steps][active].sum())

    def additions(self, active: Mask) -> FloatArray:
        """The logarithms for the set with each effect added, shape (terms,); those in it already are as they are."""
        steps = self._steps(active)
        own = float(self._inert[steps].sum() + self._odds[steps][active].sum())
        found = own + np.where(active, 0.0, self._odds[steps])
        mains = np.flatnonzero((self._main >= 0) & ~active)
        fewer = steps[None, :] - self._parents[:, self._main[mains]].T.astype(np.intp)
        with_main = self._inert[fewer].sum(axis=1) + (self._odds[fewer] * active).sum(axis=1)
        found[mains] = with_main + self._odds[0]
        return np.asarray(found)

    def _steps(self, active: Mask) -> NDArray[np.intp]:
        present = np.zeros(self._parents.shape[1])
        present[self._main[active & (self._main >= 0)]] = 1.0
        return np.asarray(self._sizes - self._parents @ present + self._higher, dtype=np.intp)
