"""Rankings where numeric options with several settings act together: no chosen model may hide one of them."""

from __future__ import annotations

from benchmarks.many_settings import ManySettings


def test_the_first_three_explain_nearly_as_much_as_the_best_three() -> None:
    system = ManySettings(1)
    assert system.captured(system.screened(1).ranking) >= 0.95
