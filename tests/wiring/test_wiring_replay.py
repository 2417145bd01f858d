"""Histories of measured revisions, as their command reports them."""

from __future__ import annotations

import numpy as np

from hati.core import Metric, Revision, RevisionKind
from hati.document import Table
from hati.studies.regression import Series
from hati.studies.replay import Replayed, RevisionSpread
from hati.wiring.kinds.replay import HistoryRequest, _reported


def measured(metrics: tuple[Metric, ...]) -> Replayed:
    positions = tuple(f"r{place}" for place in range(20))
    values = 1.0 + 0.01 * np.random.default_rng(1).normal(size=20)
    ones = np.ones(20, dtype=np.intp)
    series = tuple(Series(f"main {metric.name}", metric, positions, values, 0 * ones, ones) for metric in metrics)
    spread = RevisionSpread(Revision("r0", RevisionKind.GIT), (1.0, 2.0, 3.0, 4.0, 5.0), 2)
    keys = {("main", metric.name): metric for metric in metrics}
    return Replayed("replay-1", series, dict.fromkeys(keys, (spread,)), keys, (), 0, 40, 0, 1.0)


def test_a_chosen_metric_has_the_only_tables_over_the_configurations() -> None:
    found = measured((Metric("wall", "s"), Metric("cpu", "s")))
    sections = _reported(found, HistoryRequest(metric="cpu"), ()).document.sections
    titles = [each.title for each in sections if isinstance(each, Table)]
    assert [title for title in titles if "over the configurations" in title] == ["cpu of main over the configurations"]
