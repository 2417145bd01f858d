"""What a screening promises by its pilot."""

from __future__ import annotations

from simulated_subject import space

from hati.core import generator
from hati.studies.screening import PilotResult, choose_design
from hati.wiring.screening.promises import promise_by_pilot


def test_a_pilot_whose_configurations_differ_by_far_promises_no_single_figure() -> None:
    choice = choose_design(space(10), 64, generator(1, "design"))
    apart = promise_by_pilot(choice, PilotResult(1.0, 0.01, 5, 0, 5.0, spread=2.0), 0.01)
    near = promise_by_pilot(choice, PilotResult(1.0, 0.01, 5, 0, 5.0, spread=0.02), 0.01)
    assert apart.detectable is None
    assert "(if options do not interact) to" in apart.sentence
    assert "5 pilot runs do not show which; 16 runs of the design will" in apart.sentence
    assert near.detectable is not None
    assert "as far as 5 pilot runs show" in near.sentence


def test_a_pilot_that_shows_no_variation_between_configurations_promises_nothing_of_it() -> None:
    choice = choose_design(space(10), 64, generator(1, "design"))
    found = promise_by_pilot(choice, PilotResult(1.0, 0.01, 5, 2, 5.0, spread=None), 0.01)
    assert found.detectable is None
    assert "if options do not interact: 5 pilot runs do not show whether they do" in found.sentence
