"""The conclusion on effects at two revisions."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Metric, Revision, Setting


class OptionDrift(Struct, frozen=True):
    """An option's effect before and after: the metric with ``settings[1]`` relative to ``settings[0]``, a fraction.

    Of an option with more settings, the two that differ most. ``ratio`` is the effect after over that before, on the
    logarithmic scale, with Fieller's interval: None where the effect before is not shown to be other than zero.
    ``difference`` is of the logarithms of these relative metrics, with its interval. ``p_value`` is that
    of an unchanged effect, for all options together (Holm).
    """

    option: str
    settings: tuple[Setting, Setting]
    before: float
    after: float
    difference: float
    difference_interval: tuple[float, float]
    ratio: float | None
    interval: tuple[float, float] | None
    p_value: float
    changed: bool


class EffectDrift(Struct, frozen=True):
    """All options, the most surely changed first; ``rounds`` of ``configurations`` at both revisions."""

    study: str
    benchmark: str
    metric: Metric
    reference: Revision
    revision: Revision
    alpha: float
    options: tuple[OptionDrift, ...]
    unestimable: tuple[str, ...]
    configurations: int
    rounds: int
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
