"""The option that explains most of the variance."""

from __future__ import annotations

from hati.studies.screening.conclusion import DominatingOption
from hati.studies.screening.shown_effects import ShownEffects

MOST = 0.9
"""An option that explains this part of the variance, alone and with others, hides the rest."""
_FEWEST = 2
"""Fewer options leave no others to screen."""


def dominating_option(shown: ShownEffects) -> DominatingOption | None:
    """The option that explains most of the variance, its interactions included; None where none does.

    What it explains alone counts: where columns are correlated, what the others leave of it is less.
    """
    shares = {name: _explained(shown, name) for name in shown.options if name in shown.main_effects}
    name = max(shares, key=lambda name: shares[name], default=None)
    if name is None or shares[name] < MOST or len(shown.space.options) < _FEWEST:
        return None
    fixed = tuple(shown.space.fixed.items())
    return DominatingOption(name, min(1.0, shares[name]), shown.option(name).default, fixed)


def _explained(shown: ShownEffects, name: str) -> float:
    own = shown.term(name)
    return shown.explained([own, *(term for term in shown.interactions if set(own) < set(term))])
