"""Values on the scale that decides, and how their differences read."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.studies.screening.conclusion import Scale


class Readable(Struct, frozen=True, eq=False):
    """Values on the deciding scale; ``typical`` is the mean size of a value in its unit."""

    values: FloatArray
    scale: Scale
    typical: float

    def relative(self, difference: float) -> float:
        """A difference as a fraction."""
        if self.scale is Scale.LOG:
            return float(np.expm1(min(difference, 700.0)))
        return difference / self.typical if self.typical > 0.0 else 0.0

    def difference(self, relative: float) -> float:
        """The difference that a fraction means."""
        return float(np.log1p(relative)) if self.scale is Scale.LOG else relative * self.typical

    def in_unit(self, difference: float) -> float:
        """A difference as one of means: the two settings' means m and m exp(d) have the mean ``typical``."""
        return 2.0 * self.typical * float(np.tanh(difference / 2.0)) if self.scale is Scale.LOG else difference
