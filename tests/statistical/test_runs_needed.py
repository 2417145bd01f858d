"""The number of runs that would decide, as ``python -m benchmarks.runs_needed`` simulates it with fewer samples.

Threshold: of new samples of that many runs at least 75 % are decided, and at most 90 % unless one run fewer decides
less than 80 %. A case fails where the 95 % interval excludes that.
"""

from __future__ import annotations

import pytest
from benchmarks.runs_needed import rates

pytestmark = [pytest.mark.acceptance, pytest.mark.statistical]


def test_the_runs_that_would_decide_do_so_in_four_of_five() -> None:
    missed = [each for each in rates(0.1) if not each.met]
    assert not missed
