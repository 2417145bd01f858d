"""What is recommended before it is confirmed: the best predicted, with the fewest changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from hati.core import Better, Configuration, InputError, Metric, Setting, replace
from hati.space import Option, Space, enumerate_configurations, parse_formula, sample
from hati.stats import additive_blocks
from hati.studies.recommendation import ChangeScale, Findings, RecommendationPlan, plan_recommendation, predict
from hati.studies.recommendation.better_settings import gains

TIME = Metric("time", "s")
Value = Callable[[Mapping[str, Setting]], float]


def switches(count: int) -> Space:
    return Space(tuple(Option(f"o{i}", ("off", "on"), default="off") for i in range(count)))


def findings(
    configurations: Sequence[Configuration],
    value: Value,
    important: Sequence[tuple[str, ...]],
    metric: Metric = TIME,
    scale: ChangeScale = ChangeScale.LOG,
) -> Findings:
    """Those of runs without noise."""
    offered = {(name,) for configuration in configurations for name in configuration}
    return Findings(
        metric=metric,
        scale=scale,
        configurations=tuple(configurations),
        values=np.array([value(configuration) for configuration in configurations]),
        important=tuple(important),
        offered=(*sorted(offered), *important),
        relevant=0.01,
    )


def on(configuration: Mapping[str, Setting], *names: str) -> float:
    return float(all(configuration.get(name) == "on" for name in names))


def planned(space: Space, found: Findings, runs: int = 60, **others: object) -> RecommendationPlan:
    return plan_recommendation(space, found, runs, np.random.default_rng(1), **others)  # type: ignore[arg-type]  # keywords of several types


def test_only_options_that_matter_are_changed_and_only_for_the_better() -> None:
    space = switches(5)
    everything = list(enumerate_configurations(space))
    # o2 would help a little too, but its effect was not shown
    found = findings(
        everything,
        lambda c: math.exp(0.4 * on(c, "o0") - 0.2 * on(c, "o1") - 0.005 * on(c, "o2")),
        [("o0",), ("o1",)],
    )
    (one,) = planned(space, found).recommended
    assert dict(one.configuration) == {"o0": "off", "o1": "on", "o2": "off", "o3": "off", "o4": "off"}
    assert one.changes["time"] == pytest.approx(math.exp(-0.2) - 1)
    assert one.values["time"] == pytest.approx(math.exp(-0.2 - 0.0025))  # o2's in the mean of its settings


def test_an_interaction_decides_what_main_effects_would_get_wrong() -> None:
    space = switches(4)
    everything = list(enumerate_configurations(space))

    def value(c: Mapping[str, Setting]) -> float:
        return 2.0 - 0.3 * on(c, "o0") - 0.3 * on(c, "o1") + 0.5 * on(c, "o0", "o1")

    found = findings(everything, value, [("o0",), ("o1",), ("o0", "o1")], scale=ChangeScale.RAW)
    (one,) = planned(space, found).recommended
    assert value(one.configuration) == min(map(value, everything))
    assert sum(setting == "on" for setting in one.configuration.values()) == 1


def test_the_better_direction_is_the_metric_s() -> None:
    space = switches(3)
    higher = Metric("rate", "1/s", Better.HIGHER)
    found = findings(
        list(enumerate_configurations(space)), lambda c: math.exp(on(c, "o0") - on(c, "o1")), [("o0",), ("o1",)], higher
    )
    (one,) = planned(space, found).recommended
    assert one.configuration["o0"] == "on"
    assert one.configuration["o1"] == "off"


def test_where_nothing_matters_nothing_is_recommended() -> None:
    space = switches(3)
    plan = planned(space, findings(list(enumerate_configurations(space)), lambda c: 1.0 + 0.0 * on(c, "o0"), []))
    assert (plan.recommended, plan.candidates) == ((), ())


def test_the_recommended_configuration_is_valid_and_the_best_valid_one() -> None:
    options = (
        *(Option(f"o{i}", ("off", "on"), default="off") for i in range(3)),
        Option("level", (0, 1, 2, 3), default=0),
    )
    space = Space(options, (parse_formula('not (o0 == "on" and level == 3)'),))
    everything = list(enumerate_configurations(space))

    def value(c: Mapping[str, Setting]) -> float:
        return math.exp(-0.1 * on(c, "o0") - 0.3 * float(c["level"]))

    found = findings(everything, value, [("o0",), ("level",)])
    (one,) = planned(space, found).recommended
    assert space.valid(one.configuration)
    assert value(one.configuration) == pytest.approx(min(map(value, everything)))
    assert (one.configuration["level"], one.configuration["o0"]) == (3, "off")


def test_a_nested_option_brings_what_it_depends_on() -> None:
    space = Space(
        (
            Option("cache", ("off", "on"), default="off"),
            Option("policy", ("lru", "fifo"), default="lru", active_if=parse_formula('cache == "on"')),
            Option("log", ("off", "on"), default="off"),
        )
    )
    everything = list(enumerate_configurations(space))
    found = findings(everything, lambda c: math.exp(-0.5 * float(c.get("policy") == "fifo")), [("cache",), ("policy",)])
    (one,) = planned(space, found).recommended
    assert dict(one.configuration) == {"cache": "on", "policy": "fifo", "log": "off"}


def test_a_space_too_big_to_list_is_climbed() -> None:
    options = [Option(f"o{i}", ("off", "on"), default="off") for i in range(40)]
    space = Space(tuple(options), (parse_formula('not (o0 == "on" and o1 == "on")'),))
    rng = np.random.default_rng(2)
    runs = sample(space, 120, rng)
    sizes = {f"o{i}": 0.1 * (-1) ** i * (1 + i / 10) for i in range(8)}

    def value(c: Mapping[str, Setting]) -> float:
        return math.exp(sum(size * on(c, name) for name, size in sizes.items()))

    (one,) = planned(space, findings(runs, value, [(name,) for name in sizes])).recommended
    assert {name for name, setting in one.configuration.items() if setting == "on"} == {"o1", "o3", "o5", "o7"}


def test_only_what_a_table_has_is_recommended() -> None:
    space = switches(3)
    everything = list(enumerate_configurations(space))
    found = findings(everything, lambda c: math.exp(-on(c, "o0") - on(c, "o1")), [("o0",), ("o1",)])
    rows = [c for c in everything if not on(c, "o0", "o1")]
    plan = planned(space, found, among=rows, most_pairs=1)
    assert plan.recommended[0].configuration in rows
    assert plan.pairs == 1


def test_an_invalid_default_is_replaced_by_the_nearest_valid_configuration() -> None:
    space = Space(
        tuple(Option(f"o{i}", ("off", "on"), default="off") for i in range(3)), (parse_formula('o2 == "on"'),)
    )
    everything = list(enumerate_configurations(space))
    plan = planned(space, findings(everything, lambda c: math.exp(-on(c, "o0")), [("o0",)]))
    assert dict(plan.baseline) == {"o0": "off", "o1": "off", "o2": "on"}
    assert dict(plan.recommended[0].configuration) == {"o0": "on", "o1": "off", "o2": "on"}


def test_single_settings_that_may_be_better_are_candidates_whatever_is_important() -> None:
    space = switches(4)
    everything = list(enumerate_configurations(space))
    noise = dict(zip(everything, np.random.default_rng(3).normal(0.0, 0.01, len(everything)), strict=True))

    def value(c: Mapping[str, Setting]) -> float:
        return math.exp(noise[Configuration(c)] - 0.3 * on(c, "o0") - 0.05 * on(c, "o1") + 0.2 * on(c, "o2"))

    plan = planned(space, findings(everything, value, []))
    assert [(one.option, one.setting) for one in plan.candidates[:2]] == [("o0", "on"), ("o1", "on")]
    assert "o2" not in {one.option for one in plan.candidates}
    assert plan.candidates[0].gain == pytest.approx(0.3, abs=0.02)


def test_a_gain_is_estimated_at_the_default_of_an_option_that_it_depends_on() -> None:
    space = switches(4)
    everything = list(enumerate_configurations(space))
    found = findings(
        everything,
        lambda c: math.exp(3.0 * on(c, "o0") - 0.4 * on(c, "o1") + 0.4 * on(c, "o0", "o1")),
        [("o0",), ("o1",), ("o0", "o1")],
    )
    (one,) = planned(space, found).candidates
    assert (one.option, one.gain) == ("o1", pytest.approx(0.4))


def test_a_gain_is_not_what_an_option_does_in_one_combination_of_three() -> None:
    """At the default o0, o1 and o2 do nothing one by one; together they make a run a hundred times longer."""
    space = switches(6)
    chosen = [*enumerate_configurations(space)][::2]
    three = ("o0", "o1", "o2")
    found = findings(
        chosen,
        lambda c: math.exp(4.6 * on(c, *three) - 0.1 * on(c, "o3")),
        [*((name,) for name in (*three, "o3")), ("o0", "o1"), ("o0", "o2"), ("o1", "o2"), three],
    )
    found_gains = gains(space, found, space.default, [("o3", "on"), ("o0", "on")])
    assert found_gains.estimates == pytest.approx([0.1, 0.0], abs=1e-6)


def test_gains_are_estimated_at_the_default_of_a_dominating_option_though_no_interaction_is_important() -> None:
    space = switches(5)
    everything = list(enumerate_configurations(space))
    found = findings(
        everything,
        lambda c: math.exp(3.0 * on(c, "o0") - 0.4 * on(c, "o1") + 0.4 * on(c, "o0", "o1") + 0.01 * on(c, "o2", "o3")),
        [("o0",)],
    )
    assert planned(space, found).candidates[0].gain == pytest.approx(0.2)
    first, *_ = planned(space, replace(found, dominating="o0")).candidates
    assert (first.option, first.gain) == ("o1", pytest.approx(0.4))


def test_a_setting_whose_gain_the_runs_do_not_determine_is_a_candidate() -> None:
    space = Space((*switches(3).options, Option("level", (0, 1, 2), default=0)))
    alone = [space.canonical({name: "on"}) for name in ("o0", "o1", "o2")]
    saturated = findings([space.default, *alone], lambda c: 1.0 + 0.2 * on(c, "o0") - 0.001 * on(c, "o1"), [])
    assert {one.option for one in planned(space, saturated).candidates} == {"o0", "o1", "o2", "level"}
    without = [c for c in enumerate_configurations(space) if c["o2"] == "off" and c["level"] != 2] * 3
    noise = dict(zip(without, np.random.default_rng(3).normal(0.0, 0.001, len(without)), strict=False))
    found = findings(without, lambda c: math.exp(noise[Configuration(c)] - 0.2 * on(c, "o1") + 0.2 * on(c, "o0")), [])
    first, *others = planned(space, found).candidates
    assert (first.option, first.gain) == ("o1", pytest.approx(0.2, abs=0.01))
    assert {(one.option, one.setting) for one in others} == {("o2", "on"), ("level", 2)}
    assert [one.gain for one in others] == pytest.approx([0.0, 0.0], abs=0.01)


def test_a_gain_is_that_of_the_settings_that_a_setting_brings_with_it() -> None:
    space = Space(
        (
            Option("cache", ("off", "on"), default="off"),
            Option("policy", ("lru", "fifo", "none"), default="lru", active_if=parse_formula('cache == "on"')),
            Option("log", ("off", "on"), default="off"),
        )
    )
    worth = {"lru": 0.1, "fifo": 0.5, "none": -0.6, None: 0.0}
    everything = list(enumerate_configurations(space)) * 4
    found = findings(everything, lambda c: math.exp(-worth[c.get("policy")]), [])  # type: ignore[index]  # a text
    (one,) = planned(space, found).candidates
    assert (one.option, one.gain) == ("cache", pytest.approx(0.1))


def noisy(configurations: Sequence[Configuration], value: Value, shifts: np.ndarray) -> Findings:
    """Those of runs with noise of 0.3 %, shifted on the scale of logarithms."""
    found = findings(configurations, value, [])
    noise = np.random.default_rng(5).normal(0.0, 0.003, len(shifts))
    return replace(found, values=found.values * np.exp(shifts + noise))


def test_a_gain_is_estimated_within_machines() -> None:
    space = switches(4)
    everything = list(enumerate_configurations(space)) * 2
    machines = np.random.default_rng(2).integers(0, 2, len(everything))
    found = noisy(everything, lambda c: math.exp(-0.05 * on(c, "o1")), 0.3 * machines)
    assert len(planned(space, found).candidates) > 1
    (one,) = planned(space, replace(found, machines=machines, blocks=machines)).candidates
    assert (one.option, one.gain) == ("o1", pytest.approx(0.05, abs=0.01))


def test_a_gain_is_estimated_in_addition_to_a_drift() -> None:
    """The runs with o0=on are rather late, and the machine gets faster."""
    space = switches(4)
    everything = list(enumerate_configurations(space)) * 2
    places = np.random.default_rng(4).uniform(0.0, 2.0, len(everything)) + [on(c, "o0") for c in everything]
    order = np.argsort(np.argsort(places)).astype(np.float64)
    found = noisy(everything, lambda c: math.exp(-0.05 * on(c, "o1")), -0.01 * order)
    assert planned(space, found).candidates[0].option == "o0"
    (one,) = planned(space, replace(found, order=order)).candidates
    assert (one.option, one.gain) == ("o1", pytest.approx(0.05, abs=0.01))


@pytest.mark.parametrize("repetition", [0.0, 0.4])
def test_a_prediction_is_free_of_machines_repetitions_and_drift(repetition: float) -> None:
    space = switches(3)
    everything = list(enumerate_configurations(space)) * 2
    machines = np.array(
        [int(c["o0"] == "on") for c in everything[:8]] + [1 - int(c["o0"] == "on") for c in everything[:8]]
    )
    machines[:2] = 1 - machines[:2]
    order = np.arange(16.0)
    found = findings(everything, lambda c: math.exp(-0.3 * on(c, "o0")), [("o0",)])
    second = np.repeat([0, 1], 8)
    found = replace(found, values=found.values * np.exp(0.5 * machines + repetition * second + 0.02 * order))
    blocks = additive_blocks(second, machines) if repetition else machines
    known = replace(found, machines=machines, blocks=blocks, order=order)
    (one,) = planned(space, known).recommended
    assert one.changes["time"] == pytest.approx(math.exp(-0.3) - 1)
    (other,) = planned(space, found).recommended
    assert other.changes["time"] != pytest.approx(math.exp(-0.3) - 1, abs=0.01)


def test_what_may_not_be_recommended_is_neither_predicted_nor_tried() -> None:
    space = switches(3)
    found = findings(
        list(enumerate_configurations(space)), lambda c: math.exp(-on(c, "o0") - on(c, "o1")), [("o0",), ("o1",)]
    )
    plan = planned(space, found, allowed={"o0": ()})
    assert dict(plan.recommended[0].configuration) == {"o0": "off", "o1": "on", "o2": "off"}
    assert {one.option for one in plan.candidates} == {"o1"}
    assert planned(space, found, allowed={"o0": ("off",), "o1": ()}).recommended == ()


def test_a_plan_comes_back_from_its_json() -> None:
    space = switches(3)
    found = findings(list(enumerate_configurations(space)), lambda c: math.exp(-on(c, "o0")), [("o0",)])
    plan = planned(space, found)
    assert RecommendationPlan.from_json(plan.to_json()) == plan
    assert "allowed" not in plan.to_json()
    restricted = planned(space, found, allowed={"o1": (), "o2": ("on",)})
    assert restricted.allowed == {"o1": (), "o2": ("on",)}
    assert RecommendationPlan.from_json(restricted.to_json()) == restricted
    for text in ("[]", plan.to_json().replace("{", '{"allowed":3,', 1)):
        with pytest.raises(InputError, match="no stored recommendation"):
            RecommendationPlan.from_json(text)


def test_repetitions_that_drift_do_not_bend_the_prediction() -> None:
    space = switches(3)
    everything = list(enumerate_configurations(space))
    drift = [1.0] * 8 + [1.5] * 8
    found = findings(everything * 2, lambda c: math.exp(-0.3 * on(c, "o0")), [("o0",)])
    moved = Findings(
        found.metric, found.scale, found.configurations, found.values * np.array(drift), found.important,
        found.offered, found.relevant,
    )  # fmt: skip
    (one,) = planned(space, moved).recommended
    assert one.changes["time"] == pytest.approx(math.exp(-0.3) - 1)
    assert predict(moved, space).movable == {0}


def test_values_that_have_no_logarithm_are_refused() -> None:
    with pytest.raises(InputError, match="logarithm"):
        findings([switches(1).default], lambda c: -1.0 * on(c) - 1.0, [])
