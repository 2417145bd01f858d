"""Published experiments: the data of Box, Hunter and Hunter (1978) as Box and Meyer (1993) analyse it."""

from __future__ import annotations

import numpy as np

_INJECTION = """
-1 -1 -1 -1  1  1  1 -1  1 14.0
-1  1 -1 -1 -1 -1  1  1  1 16.8
-1 -1  1 -1 -1  1 -1  1  1 15.0
-1  1  1 -1  1 -1 -1 -1  1 15.4
-1 -1 -1  1  1 -1 -1  1  1 27.6
-1  1 -1  1 -1  1 -1 -1  1 24.0
-1 -1  1  1 -1 -1  1 -1  1 27.4
-1  1  1  1  1  1  1  1  1 22.6
-1  1  1  1 -1 -1 -1  1 -1 22.3
-1 -1  1  1  1  1 -1 -1 -1 17.1
-1  1 -1  1  1 -1  1 -1 -1 21.5
-1 -1 -1  1 -1  1  1  1 -1 17.5
-1  1  1 -1 -1  1  1 -1 -1 15.9
-1 -1  1 -1  1 -1  1  1 -1 21.9
-1  1 -1 -1  1  1 -1  1 -1 16.7
-1 -1 -1 -1 -1 -1 -1 -1 -1 20.3
 1 -1  1  1  1 -1 -1 -1  1 29.4
 1 -1  1 -1 -1 -1  1  1  1 19.7
 1  1  1 -1 -1  1 -1 -1  1 13.6
 1  1  1  1  1  1  1  1  1 24.7
"""

INJECTION = np.array([[float(word) for word in line.split()] for line in _INJECTION.strip().splitlines()])
"""Columns: block, A to H, shrinkage. The first 16 rows are the experiment, the last four its follow-up."""

_YIELDS = (61, 53, 63, 61, 53, 56, 54, 61, 69, 61, 94, 93, 66, 60, 95, 98)
_YIELDS += (56, 63, 70, 65, 59, 55, 67, 65, 44, 45, 78, 77, 49, 42, 81, 82)

REACTOR = np.array([[1.0 if row >> factor & 1 else -1.0 for factor in range(5)] for row in range(32)])
"""The full factorial of the reactor experiment, A changing fastest."""

REACTOR_YIELDS = np.array(_YIELDS, dtype=np.float64)
