"""Rankings where numeric options with several settings act together: no chosen model may hide one of them."""

from __future__ import annotations

import pytest
from benchmarks.many_settings import ManySettings


@pytest.mark.acceptance
@pytest.mark.parametrize("number", [1, 10])
def test_the_first_three_explain_nearly_as_much_as_the_best_three(number: int) -> None:
    system = ManySettings(number)
    assert system.captured(system.screened(1).ranking) >= 0.95
