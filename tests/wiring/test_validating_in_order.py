"""Validations of runs that were not made in random order, at several times and on several machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest

from hati.core import Benchmark, Evidence, Metric, Reader, ReaderKind, StudyId, Task, generator, replace
from hati.space import Option, Space
from hati.studies.screening import (
    AnyChoice,
    AnyScreening,
    EffectScale,
    FractionRequest,
    asked_fraction,
    choose_followed,
    choose_optimal,
    screening,
)
from hati.studies.validation import (
    Augmenting,
    Confirming,
    Mode,
    Result,
    RunsNeeded,
    Screened,
    Validation,
    ValidationConclusion,
)
from hati.testing import FakeEngine, MemoryStore
from hati.wiring.screening.validation import _screened

LATENCY = Metric("latency", "s")
BENCHMARK = Benchmark("orders", ("true",), Reader(ReaderKind.HATI), (LATENCY,))
PLACE = Space(tuple(Option(name, (False, True), default=False) for name in "abcdefgh"))
NOISE = 0.002
DRIFT = 0.002
"""Per run, on the logarithm."""
LATER = 0.1
"""By how much everything takes longer when it is validated, on the logarithm."""

AnyValidation = Validation | Confirming | Augmenting
Effects = Mapping[str, float]
Arranged = Callable[[Sequence[Task]], Sequence[Task]]


def in_plan_order(tasks: Sequence[Task]) -> Sequence[Task]:
    return tasks


def in_order_of(*names: str) -> Arranged:
    def arranged(tasks: Sequence[Task]) -> Sequence[Task]:
        return sorted(tasks, key=lambda task: tuple(task.configuration[name] for name in names))

    return arranged


def on_one(_: Task) -> float:
    return 1.0


def on_two(task: Task) -> float:
    """About half of the runs take 30 % longer."""
    return 1.3 if generator(11, task.id).integers(2) else 1.0


def made(
    study: AnyScreening | AnyValidation,
    effects: Effects,
    arranged: Arranged = in_plan_order,
    drift: float = 0.0,
    slower: Callable[[Task], float] = on_one,
    start: float = 0.0,
) -> Evidence:
    """The runs of a study, each of which takes ``drift`` longer than the one before, on the logarithm."""
    store = MemoryStore()

    def run(tasks: Sequence[Task]) -> None:
        for task in arranged(tasks):
            log = start + drift * len(store.kept) + NOISE * float(generator(3, task.id).standard_normal())
            for word, size in effects.items():
                log += size / 2 * math.prod(1 if task.configuration[letter] else -1 for letter in word)
            value = 0.002 * slower(task) * math.exp(log)
            engine = FakeEngine(lambda _, value=value: {"latency": [value]}, machine=f"machine-{slower(task)}")
            store.record(next(engine.run((task,))))

    if not isinstance(study, Validation):
        run(study.tasks)
    while plan := study.plan(store.evidence(study.id)):
        run(plan.tasks)
    return store.evidence(study.id)


def a_screening(kind: str) -> AnyScreening:
    rng = generator(1, "design")
    choices: Mapping[str, Callable[[], AnyChoice]] = {
        "fraction": lambda: asked_fraction(FractionRequest(resolution=4), 8, 32, rng),
        "model": lambda: choose_optimal(PLACE, 48, rng),
        "followed": lambda: choose_followed(PLACE, 64, rng),
    }
    return screening(
        study=StudyId.of("screening", {"budget": "32", "kind": kind}, 2, "fake"),
        subject="simulated",
        benchmark=BENCHMARK,
        metric=LATENCY,
        revision="1",
        space=PLACE,
        choice=choices[kind](),
    )


def screened(kind: str, effects: Effects, **others: object) -> Screened:
    study = a_screening(kind)
    evidence = made(study, effects, **others)  # type: ignore[arg-type]  # keywords of several types
    return _screened(study, study.conclude(evidence), evidence, PLACE)


MADE = {
    "discriminate": ("fraction", partial(Validation, budget=16)),
    "confirm": ("model", partial(Confirming, budget=24)),
    "dealias": ("fraction", partial(Augmenting, mode=Mode.DEALIAS, order=2, budget=24)),
    "check": ("fraction", partial(Augmenting, mode=Mode.CHECK, order=2, budget=48)),
    "confirm with flips": ("followed", partial(Confirming, budget=24)),
    "check a model": ("model", partial(Augmenting, mode=Mode.CHECK, order=2, budget=48)),
}
EVERY = pytest.mark.parametrize("mode", MADE)


def validation(mode: str, start: Screened) -> AnyValidation:
    study = StudyId.of("validation", {"mode": mode}, 1, "fake")
    return MADE[mode][1](study, "simulated", BENCHMARK, LATENCY, "1", PLACE, start)


def claiming(start: Screened, effect: tuple[str, ...]) -> Screened:
    """The same screening, which called one effect more important."""
    return replace(start, important=(*start.important, effect), aliases=(*start.aliases, ()), sizes=())


def important(found: ValidationConclusion) -> set[str]:
    return {":".join(effect.options) for effect in found.effects if effect.important}


def results(found: ValidationConclusion) -> dict[str, Result]:
    return {":".join(a.effect): a.result for a in found.assumptions if a.effect}


@EVERY
def test_drift_while_it_is_validated_in_the_order_of_an_option_does_not_confirm_it(mode: str) -> None:
    """The screening called h important, which does nothing; runs with h come last, each .2 % longer than the last."""
    effects = {"a": 0.06, "b": 0.04, "ab": 0.04}
    study = validation(mode, claiming(screened(MADE[mode][0], effects), ("h",)))
    found = study.conclude(made(study, effects, in_order_of("h"), DRIFT, start=LATER))
    assert important(found) == {"a", "b", "a:b"}
    told = results(found)
    of_h = told.pop("h")
    assert of_h in {Result.UNDECIDED, Result.REFUTED}
    if of_h is Result.UNDECIDED:
        assert found.needed == RunsNeeded(unknown="h may be drift over the order of runs")
    assert told == dict.fromkeys(["a", "b", "a:b"], Result.CONFIRMED)
    assert any(text.startswith("h is confounded with") for text in found.warnings) is (found.done > 0)


@EVERY
def test_before_a_run_is_made_nothing_is_said_of_its_order(mode: str) -> None:
    effects = {"a": 3.0, "b": 2.0}
    found = validation(mode, claiming(screened(MADE[mode][0], effects), ("h",))).conclude(Evidence())
    assert results(found)["h"] in {Result.UNDECIDED, Result.REFUTED}
    assert not any("confounded" in text for text in found.warnings)


@EVERY
def test_drift_in_a_sorted_screening_makes_no_other_effect_active(mode: str) -> None:
    study = validation(mode, screened(MADE[mode][0], {"g": 0.06}, arranged=in_order_of(*PLACE.names), drift=DRIFT))
    found = study.conclude(made(study, {"g": 0.06}, start=LATER))
    assert (results(found), important(found)) == ({"g": Result.CONFIRMED}, {"g"})


@EVERY
def test_a_slower_machine_hides_no_effect_from_a_validation(mode: str) -> None:
    """Every other run of the screening and of the validation is on a machine that takes 30 % longer."""
    effects = {"a": 0.1, "d": 0.05}
    study = validation(mode, screened(MADE[mode][0], effects, slower=on_two))
    found = study.conclude(made(study, effects, slower=on_two, start=LATER))
    assert results(found) == {"a": Result.CONFIRMED, "d": Result.CONFIRMED}
    assert important(found) == {"a", "d"}


def test_drift_does_not_look_like_an_error_of_predictions() -> None:
    effects = {"a": 0.06, "b": 0.04}
    study = validation("confirm", screened("model", effects))
    found = study.conclude(made(study, effects, drift=DRIFT, start=LATER))
    assert found.prediction is not None
    assert found.prediction.p_value is not None
    assert found.prediction.p_value > 0.05
    assert found.prediction.largest is not None
    assert found.prediction.largest < 6.0 * NOISE


def test_the_flips_of_a_screening_are_among_its_runs() -> None:
    start = screened("followed", {"a": 0.1}, slower=on_two)
    assert (len(start.runs), start.planned, start.failed, start.unmade) == (64, 64, 0, 0)
    assert set(start.runs.machines.tolist()) == {0, 1}
    assert start.runs.trends.shape == (64, 1)


@pytest.mark.parametrize(("size", "scale"), [(0.5, EffectScale.LOG), (0.03, EffectScale.RAW)])
def test_margins_are_those_of_the_screening(size: float, scale: EffectScale) -> None:
    """On the raw scale half of the interval in the unit, whatever the ends of the change are."""
    effects = {"a": size, "g": size / 2.0}
    study = a_screening("fraction")
    evidence = made(study, effects)
    found = study.conclude(evidence)
    start = _screened(study, found, evidence, PLACE)
    assert start.scale is scale
    shown = [effect for effect in found.effects if effect.shown]
    assert [each.change and each.change.relative for each in start.sizes] == [effect.relative for effect in shown]
    for effect, own in zip(shown, start.sizes, strict=True):
        ends = effect.interval if scale is EffectScale.RAW else effect.relative_interval
        assert ends is not None
        low, high = ends if scale is EffectScale.RAW else map(math.log1p, ends)
        assert own.margin == pytest.approx((high - low) / 2.0)
