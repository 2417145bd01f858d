"""One estimated effect, by the positions of its options."""

from __future__ import annotations

from msgspec import Struct

from hati.stats import Term


class Estimated(Struct, frozen=True):
    """One effect by the positions of its options; the fields are those of ``conclusion.Effect``."""

    term: Term
    aliases: tuple[Term, ...]
    estimate: float
    interval: tuple[float, float] | None
    standard_error: float | None
    relative: float
    relative_interval: tuple[float, float] | None
    contrast: float
    share: float
    p_value: float | None
    important: bool
    half_normal: float
