"""examples/bookstore, for real: what its campaigns yield, and what is called slower."""

from __future__ import annotations

import math
from statistics import fmean, median

import pytest
from benchmarks import bookstore

pytestmark = [pytest.mark.acceptance, pytest.mark.alone]

BETWEEN = 40e-3
"""Longer than a call to the cache, even a disturbed one; half as long as one to the database."""
EXPECTED_MISSES = 0.70
RUNS = 6


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> bookstore.Campaign:
    folder = tmp_path_factory.mktemp("campaign")
    bookstore.measure(folder, damaged=True, budget=RUNS)
    return bookstore.read(folder)


def test_both_versions_are_measured_in_turns(campaign: bookstore.Campaign) -> None:
    for samples, damage in ((campaign.before, 0), (campaign.after, 10)):
        assert {sample["metric"] for sample in samples["samples"]} == {"book", "best_sellers", "search", "order"}
        assert all(sample["configuration"] == {"damage": damage} for sample in samples["samples"])
    started = [
        [run["started"] for run in samples["samples"][0]["runs"]] for samples in (campaign.before, campaign.after)
    ]
    assert sum(map(len, started)) == RUNS
    assert max(map(min, started)) < min(map(max, started))


def test_calls_hit_the_cache_or_wait_for_the_database(campaign: bookstore.Campaign) -> None:
    for samples in (campaign.before, campaign.after):
        for values in bookstore.observations(samples):
            slow = [value for value in values if value > BETWEEN]
            assert len(values) > 100
            error = math.sqrt(EXPECTED_MISSES * (1 - EXPECTED_MISSES) / len(values))
            assert abs(len(slow) / len(values) - EXPECTED_MISSES) < 4 * error
            assert min(slow) >= 79.8e-3
            assert median(values) > 79.8e-3


def test_the_same_calls_are_made_in_each_run(campaign: bookstore.Campaign) -> None:
    sides = (campaign.before, campaign.after)
    numbers = {len(values) for samples in sides for values in bookstore.observations(samples)}
    assert len(numbers) == 1


def test_means_and_medians_of_both_versions_are_alike(campaign: bookstore.Campaign) -> None:
    for of in (median, fmean):
        before, after = (
            fmean(map(of, bookstore.observations(samples))) for samples in (campaign.before, campaign.after)
        )
        assert after == pytest.approx(before, rel=0.05)
    assert not campaign.slower["mean"]
    assert not campaign.slower["median"]
    runs = len(bookstore.observations(campaign.before))
    assert sum(len(bookstore.observations(half)) for half in bookstore.halves(campaign.before)) == runs
    assert "| original | median |" in bookstore.figure_8(campaign)
