"""What a campaign leaves out of runs is kept with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from hati.studies.comparison import StatisticChoices
from hati.studies.gate import WarmUpCut
from hati.testing.conformance import MACHINE, METRICS, a_study
from hati.wiring.known.warm_up import warm_up_cuts, with_cuts
from hati.wiring.workplace import Workplace, workplace

CUTS = (WarmUpCut("main", "latency", 12, "19 of the 20 newest runs until 2026-11-24 are steady"),)
PROJECT = '[[benchmark]]\nname = "main"\ncommand = ["true"]\n\n[[benchmark.metric]]\nname = "latency"\nunit = "s"\n'


@pytest.mark.parametrize("cuts", [(), CUTS], ids=["nothing was known", "something was"])
def test_a_campaign_goes_on_as_it_was_begun(tmp_path: Path, cuts: tuple[WarmUpCut, ...]) -> None:
    (tmp_path / "hati.toml").write_text(PROJECT)
    place, study = cast("Workplace", workplace(tmp_path, None)), cast("Any", a_study())
    place.store.begin(study, METRICS, MACHINE)
    assert warm_up_cuts(place, study, place.project.benchmarks) == ()
    kept = with_cuts(StatisticChoices().to_json(), cuts)
    place.store.keep_choice(study, kept)
    assert warm_up_cuts(place, study, place.project.benchmarks) == cuts
    assert StatisticChoices.from_json(kept) == StatisticChoices()
