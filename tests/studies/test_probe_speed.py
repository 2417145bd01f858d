"""Steps of the frequency, and CPUs that share a core, on simulated raw data whose truth is known."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from hati.studies.probe import ProbeVerdict
from hati.studies.probe.speed import frequency_steps, siblings

MEASURED, INCONCLUSIVE, CONTAMINATED = ProbeVerdict.MEASURED, ProbeVerdict.INCONCLUSIVE, ProbeVerdict.CONTAMINATED


def rounds(rng, changes, scatter=0.02, count=4):
    """Rounds of 600 repetitions of 1 ms; ``changes`` are (place in ms, factor of the rate) of each round."""
    raw = {}
    for number, own in zip(range(count), itertools.cycle(changes), strict=False):
        starts = np.arange(600) * 1e6
        rate = np.prod([np.where(starts >= at * 1e6, factor, 1.0) for at, factor in own], axis=0) * np.ones(600)
        raw |= {f"work_start_ns/{number}": starts, f"work_cpu_ns/{number}": 1e6 / rate * rng.normal(1.0, scatter, 600)}
    return raw


@pytest.mark.parametrize(("at", "factor"), [(30.0, 2.0), (100.0, 1.25), (300.0, 0.8), (450.0, 1.08)])
def test_a_step_in_all_rounds_is_found_with_its_time(at: float, factor: float) -> None:
    for seed in range(30):
        count, step, place = frequency_steps(rounds(np.random.default_rng(seed), [[(at, factor)]]))
        assert {each.verdict for each in (count, step, place)} == {MEASURED}
        assert count.value == 1.0
        assert step.value == pytest.approx(factor, rel=0.02)
        assert place.value == pytest.approx(at, abs=20.0)


@pytest.mark.acceptance
def test_a_constant_rate_has_no_step() -> None:
    for seed in range(200):
        found = frequency_steps(rounds(np.random.default_rng(seed), [[]]))
        assert [(each.value, each.verdict) for each in found] == [(0.0, MEASURED), (None, MEASURED), (None, MEASURED)]


def test_the_largest_of_several_steps_is_reported() -> None:
    count, step, place = frequency_steps(rounds(np.random.default_rng(1), [[(50.0, 1.2), (200.0, 1.5)]]))
    assert count.value == 2.0
    assert step.value == pytest.approx(1.5, rel=0.02)
    assert place.value == pytest.approx(200.0, abs=20.0)


def test_changes_at_other_times_in_each_round_are_contaminated_and_never_a_step() -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        changes = [[(rng.uniform(50.0, 550.0), rng.choice([0.8, 1.25]))] for _ in range(4)]
        found = frequency_steps(rounds(rng, changes))
        assert {each.verdict for each in found} == {CONTAMINATED}
    both = frequency_steps(rounds(rng, [[(100.0, 1.5)], [(100.0, 1.5), (400.0, 0.8)]]))
    assert {each.verdict for each in both} == {CONTAMINATED}
    assert both[1].value == pytest.approx(1.5, rel=0.02)
    assert "2 changes" in both[0].reason


@pytest.mark.parametrize("second", [120.0, 130.0, 140.0])
def test_a_step_of_a_round_is_matched_once(second: float) -> None:
    changes = [[(100.0, 1.2), (second, 1.2)], *[[((100.0 + second) / 2.0, 1.44)]] * 3]
    found = frequency_steps(rounds(np.random.default_rng(1), changes, scatter=1e-4))
    assert {each.verdict for each in found} == {CONTAMINATED}
    assert found[0].value <= 1.0
    assert re.search(r"has [1-9]\d* changes? of", found[0].reason)


def test_two_close_steps_that_begin_later_in_some_rounds_are_two() -> None:
    changes = [[(100.0, 1.5), (130.0, 0.8)], [(110.0, 1.5), (140.0, 0.8)]]
    count, step, place = frequency_steps(rounds(np.random.default_rng(1), changes, scatter=1e-4))
    assert (count.verdict, count.value) == (MEASURED, 2.0)
    assert (step.value, place.value) == (pytest.approx(1.5, rel=0.02), pytest.approx(105.0, abs=20.0))


def test_a_process_that_hardly_runs_is_inconclusive() -> None:
    raw = rounds(np.random.default_rng(1), [[]])
    kept = np.arange(600) % 100 < 40
    found = frequency_steps({name: values[kept] for name, values in raw.items()})
    assert {each.name: each.verdict for each in found} == dict.fromkeys(
        ("cpu.steps", "cpu.step", "cpu.step_at"), INCONCLUSIVE
    )


def paired(rng, slow, listed=None, others=0.0, cpus=(0, 1, 2, 3), scatter=0.02):
    """``slow`` are slow-downs by pair, one for all rounds or one for each."""
    pairs = list(itertools.combinations(cpus, 2))
    factors = np.array([np.broadcast_to(slow.get(pair, 1.0), 3) for pair in pairs]).T[:, :, None]
    raw = {
        "cpus": np.array(cpus, float),
        "pairs": np.array(pairs, float).ravel(),
        "alone_ns": (1e6 * rng.normal(1.0, scatter, (3, len(cpus)))).ravel(),
        "both_ns": (1e6 * factors * rng.normal(1.0, scatter, (3, len(pairs), 2))).ravel(),
        "others": np.array([others]),
    }
    return raw | ({} if listed is None else {"listed": np.array([float(pair in listed) for pair in pairs])})


SIBLINGS = {(0, 2): 1.7, (1, 3): 1.7}


def test_siblings_are_found_and_compared_with_the_kernels_list() -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        count, slow = siblings(paired(rng, SIBLINGS, listed=set(SIBLINGS)))
        assert (count.value, count.verdict, count.reason) == (2.0, MEASURED, "")
        assert slow.value == pytest.approx(1.7, rel=0.03)
        count, slow = siblings(paired(rng, {}, listed=set()))
        assert (count.value, count.verdict) == (0.0, MEASURED)
        assert slow.value is None


def test_siblings_that_the_kernel_hides_or_does_not_show_are_named() -> None:
    rng = np.random.default_rng(1)
    hidden = siblings(paired(rng, SIBLINGS, listed=set()))
    assert [each.verdict for each in hidden] == [MEASURED] * 2
    assert "CPU 0 and 2, CPU 1 and 3; the kernel does not list them" in hidden[0].reason
    unknown = siblings(paired(rng, SIBLINGS))
    assert unknown[0].value == 2.0
    assert unknown[0].reason == "the kernel's list of siblings is not visible"


def test_siblings_that_do_not_slow_each_other_down_are_inconclusive() -> None:
    found = siblings(paired(np.random.default_rng(1), {(0, 2): 1.7}, listed=set(SIBLINGS)))
    assert {each.verdict for each in found} == {INCONCLUSIVE}
    assert "CPU 1 and 3 as siblings" in found[0].reason


def test_siblings_beside_other_load_are_contaminated() -> None:
    rng = np.random.default_rng(1)
    busy = siblings(paired(rng, SIBLINGS, listed=set(SIBLINGS), others=0.9))
    assert {each.verdict for each in busy} == {CONTAMINATED}
    some = siblings(paired(rng, {(0, 1): [1.0, 1.7, 1.7]}, listed=set()))
    assert {each.verdict for each in some} == {CONTAMINATED}
    assert "CPU 0 and 1 slow each other down in some rounds only" in some[0].reason
