"""Machines as blocks: their differences are removed, and options that differ between machines are found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import statsmodels.api as sm
from simulated_subject import BENCHMARK, LATENCY, multiplying, space

from hati.core import Evidence, FloatArray, Plan, Run, StudyId, Task, generator, replace
from hati.space import Option, Space
from hati.studies.screening import AnyScreening, FractionRequest, ModelScreening, asked_fraction, choose_followed
from hati.studies.screening import screening as screening_of
from hati.studies.screening.planning.tasks import machine_share, of_pool
from hati.studies.screening.reruns import is_flip
from hati.studies.screening.words import answer
from hati.testing import FakeEngine, MemoryStore

OPTIONS = space(6)
COMPILER = Option("compiler", ("gcc", "clang", "icc"), default="gcc")
EFFECTS = {"a": 0.10, "b": -0.06}
Value = Callable[[Task], float]


def asked(runs: int, budget: int) -> AnyScreening:
    choice = asked_fraction(FractionRequest(None, runs), 6, budget, generator(1, "design"), math.inf)
    return _screening(choice)


def followed(runs: int) -> AnyScreening:
    return _screening(of_pool(choose_followed(space(6), runs, generator(1, "design"), ()), 2))


def _screening(choice: object, place: Space = OPTIONS) -> AnyScreening:
    return screening_of(
        study=StudyId.of("screening", {}, 1, "pool"),
        subject="simulated",
        benchmark=BENCHMARK,
        metric=LATENCY,
        revision="1",
        space=place,
        choice=choice,  # type: ignore[arg-type]
    )


def on_two(study: AnyScreening, value: Value, only_slow: str = "") -> Evidence:
    """All runs, those of the second block on a machine that is 30 % slower, on which another option counts too."""
    store = MemoryStore()
    while ahead := study.plan(store.evidence(study.id)):
        for run in _run(study, ahead, value, only_slow):
            store.record(run)
    return store.evidence(study.id)


def _run(study: AnyScreening, plan: Plan, value: Value, only_slow: str) -> Iterator[Run]:
    for task, block in zip(plan.tasks, study.blocks_of(plan.tasks, 2), strict=True):
        slow = bool(task.repetition % 2 if block is None else block)
        more = 1.05 if only_slow and task.configuration[only_slow] else 1.0
        factor = 1.3 * more if slow else 1.0
        yield from FakeEngine(lambda t, f=factor: {"latency": [f * value(t)]}, machine="ab"[slow]).run((task,))


def on_any_of_three(study: AnyScreening, value: Value, seed: int) -> Evidence:
    """All runs, each on one of three machines that is drawn for it: 0 %, 20 % and 30 % slower."""
    store, machines = MemoryStore(), generator(seed, "machines")
    while ahead := study.plan(store.evidence(study.id)):
        for task in ahead.tasks:
            place = int(machines.integers(3))
            factor = (1.0, 1.2, 1.3)[place]
            engine = FakeEngine(lambda t, f=factor: {"latency": [f * value(t)]}, machine="abc"[place])
            store.record(next(engine.run((task,))))
    return store.evidence(study.id)


def anywhere(evidence: Evidence) -> Evidence:
    """The same runs as if they were of one machine."""
    return Evidence(tuple(replace(run, machine="a") for run in evidence.runs))


@pytest.mark.parametrize("study", [asked(16, 32), asked(32, 32), followed(48)], ids=["whole", "words", "balanced"])
def test_the_difference_between_machines_is_removed_and_reported(study: AnyScreening) -> None:
    found = study.conclude(on_two(study, multiplying(EFFECTS, noise=0.005)))
    assert (*found.important, *found.important_or_aliased) == ("a", "b")
    assert found.machine_blocks is not None
    first, second = found.machine_blocks.machines
    assert first.offset == 0.0
    assert second.offset == pytest.approx(0.3 if second.fingerprint == "b" else 1.0 / 1.3 - 1.0, abs=0.02)
    assert abs(first.runs - second.runs) <= 4
    assert found.machine_blocks.differing == ()
    assert not any("not the same on all machines" in text for text in found.warnings)


def test_the_difference_between_machines_has_no_share_of_the_variance() -> None:
    study = asked(32, 32)
    effects = {effect.options: effect.share for effect in study.conclude(on_two(study, multiplying(EFFECTS))).effects}
    assert effects["a",] == pytest.approx(0.10**2 / (0.10**2 + 0.06**2), abs=0.05)


@pytest.mark.parametrize("study", [asked(32, 32), followed(48)], ids=["words", "balanced"])
@pytest.mark.parametrize("others", ["b", "bc"])
def test_an_option_whose_settings_machines_have_is_confounded_with_them(study: AnyScreening, others: str) -> None:
    store = MemoryStore()
    while ahead := study.plan(store.evidence(study.id)):
        for place, task in enumerate(ahead.tasks):
            machine = others[place % len(others)] if task.configuration["f"] else "a"
            factor = {"a": 1.0, "b": 1.2, "c": 1.3}[machine]
            value = multiplying(EFFECTS, noise=0.005)
            engine = FakeEngine(lambda t, f=factor, v=value: {"latency": [f * v(t)]}, machine=machine)
            store.record(next(engine.run((task,))))
    found = study.conclude(store.evidence(study.id))
    assert found.machine_blocks is not None
    offsets = {each.fingerprint: 1.0 + each.offset for each in found.machine_blocks.machines}
    assert offsets["b"] / offsets["a"] == pytest.approx(1.2, abs=0.04)
    (confounded,) = found.machine_blocks.confounded
    assert {each.setting: set(each.machines) for each in confounded.settings} == {False: {"a"}, True: set(others)}
    assert confounded.within == (None if others == "b" else pytest.approx(0.1, abs=0.02))
    assert (*found.important, *found.important_or_aliased) == ("a", "b")
    assert any(text.startswith("each machine ran one setting of f") for text in found.warnings)
    assert not any(
        "cannot estimate f" in text or "cannot distinguish the effect of f" in text for text in found.warnings
    )
    assert "Nothing is known of f: each machine ran one setting of it only." in answer(found)


@pytest.mark.parametrize(
    ("machines", "groups", "offset"),
    [
        ({"gcc": "a", "clang": "a", "icc": "b"}, [{frozenset(("gcc", "clang")), frozenset(("icc",))}], 1.3 / 1.05),
        ({"gcc": "a", "clang": "ab", "icc": "b"}, [], 1.3),
    ],
    ids=["a setting that one machine has alone", "linked by a machine that ran both"],
)
def test_settings_that_no_machines_link_are_named(
    machines: dict[str, str], groups: list[set[frozenset[str]]], offset: float
) -> None:
    """clang is 10 % slower than gcc, and the machine b 30 % slower than a: icc on b may be as fast as gcc."""
    compilers = Space((*(Option(name, (False, True), default=False) for name in "abcd"), COMPILER))
    study = _screening(of_pool(choose_followed(compilers, 48, generator(1, "design"), ()), 2), compilers)
    value, store = multiplying(EFFECTS, noise=0.005), MemoryStore()
    while ahead := study.plan(store.evidence(study.id)):
        for place, task in enumerate(ahead.tasks):
            compiler = str(task.configuration["compiler"])
            machine = machines[compiler][place % len(machines[compiler])]
            factor = (1.3 if machine == "b" else 1.0) * (1.1 if compiler == "clang" else 1.0)
            engine = FakeEngine(lambda t, f=factor: {"latency": [f * value(t)]}, machine=machine)
            store.record(next(engine.run((task,))))
    found = study.conclude(store.evidence(study.id))
    assert found.machine_blocks is not None
    named = [option.groups for option in found.machine_blocks.confounded]
    assert [{frozenset(each.setting for each in group) for group in own} for own in named] == groups
    assert "compiler" in found.important, "clang and gcc ran on one machine"
    offsets = {each.fingerprint: 1.0 + each.offset for each in found.machine_blocks.machines}
    assert offsets["b"] / offsets["a"] == pytest.approx(offset, abs=0.02)
    assert any(text.startswith("no machines link all settings of compiler (") for text in found.warnings) == bool(
        groups
    )
    assert ("Not all settings of compiler can be compared" in answer(found)) == bool(groups)


@pytest.mark.parametrize("study", [asked(32, 32), followed(64)], ids=["words", "balanced"])
def test_an_interaction_of_options_whose_settings_machines_have_is_named(study: AnyScreening) -> None:
    store, value = MemoryStore(), multiplying({**EFFECTS, "ab": 0.08}, noise=0.005)
    while ahead := study.plan(store.evidence(study.id)):
        for task in ahead.tasks:
            place = 2 * bool(task.configuration["e"]) + bool(task.configuration["f"])
            factor = (1.0, 1.2, 1.3, 1.1)[place]
            engine = FakeEngine(lambda t, f=factor: {"latency": [f * value(t)]}, machine="abcd"[place])
            store.record(next(engine.run((task,))))
    found = study.conclude(store.evidence(study.id))
    assert found.machine_blocks is not None
    assert [each.option for each in found.machine_blocks.confounded] == ["e", "f"]
    assert found.machine_blocks.confounded_pairs == (("e", "f"),)
    assert ("a", "b") in [effect.options for effect in found.effects if effect.shown]
    assert any(text.startswith("machines determine the interaction e x f: it cannot") for text in found.warnings)
    assert not any("cannot estimate" in text for text in found.warnings)
    assert "Nothing is known of how these interact, since machines determine it: e and f." in answer(found)


def test_an_interaction_that_a_machine_can_show_is_not_named() -> None:
    study = followed(64)
    found = study.conclude(on_any_of_three(study, multiplying(EFFECTS, noise=0.005), 2))
    assert found.machine_blocks is not None
    assert found.machine_blocks.confounded_pairs == ()


def test_one_machine_has_no_blocks() -> None:
    study = asked(16, 32)
    assert study.conclude(anywhere(on_two(study, multiplying(EFFECTS)))).machine_blocks is None


def test_without_blocks_the_same_runs_show_less() -> None:
    study = followed(48)
    evidence = on_two(study, multiplying(EFFECTS, noise=0.005))
    assert study.conclude(evidence).important == ("a", "b")
    assert study.conclude(anywhere(evidence)).important == ()


def test_an_option_of_three_settings_is_found_in_twelve_runs_on_three_machines() -> None:
    """Four repetitions and three machines take six degrees of freedom, not one for each of their combinations."""
    only = Space((Option("level", (0, 1, 2), default=0),))
    study = _screening(choose_followed(only, 12, generator(1, "design"), ()), only)
    for seed in range(1, 6):
        noise = generator(seed, "noise")

        def value(task: Task, noise: np.random.Generator = noise) -> float:
            return 0.002 * 1.1 ** task.configuration["level"] * math.exp(0.02 * noise.standard_normal())

        assert study.conclude(on_any_of_three(study, value, seed)).important == ("level",)


def test_the_runs_of_a_flip_on_two_machines_show_its_effect() -> None:
    """Flips and machines take a parameter each: combinations would leave nothing of such a flip."""
    study = followed(48)
    assert isinstance(study, ModelScreening)
    evidence = on_any_of_three(study, multiplying(EFFECTS, noise=0.005), 1)
    flips = {(run.task.stage, run.task.repetition) for run in evidence.runs if is_flip(run.task)}
    assert len(flips) >= 5
    judged = study.judged(evidence).analysis.judged
    assert judged.always.shape[1] == (1 + len(flips)) + (3 - 1) + 1
    assert study.conclude(evidence).important == ("a", "b")


@pytest.mark.parametrize("study", [asked(16, 32), asked(16, 64), followed(48)], ids=["whole", "repeated", "balanced"])
def test_an_option_that_counts_on_one_machine_refutes_the_assumption(study: AnyScreening) -> None:
    found = study.conclude(on_two(study, multiplying(EFFECTS, noise=0.004), only_slow="f"))
    assert found.machine_blocks is not None
    assert "f" in found.machine_blocks.differing
    assert found.machine_blocks.p_value is not None
    assert found.machine_blocks.p_value < 0.05
    assert any("the effect of f is not the same on all machines" in text for text in found.warnings)


def test_the_interaction_with_machine_is_that_of_an_analysis_of_variance() -> None:
    """Against statsmodels: configuration and machine as factors, and all options' interactions with machine."""
    study = asked(16, 64)
    evidence = on_two(study, multiplying(EFFECTS, noise=0.01), only_slow="f")
    found = study.conclude(evidence)
    values = np.log([run.observations[0].mean for run in evidence.runs])
    cells = _indicators([str(run.task.configuration) for run in evidence.runs])
    blocks = _indicators([f"{run.machine}{run.task.repetition}" for run in evidence.runs])[:, 1:]
    slow = np.array([run.machine == "b" for run in evidence.runs], dtype=float)
    signs = np.array([[1.0 if run.task.configuration[name] else -1.0 for name in "abcdef"] for run in evidence.runs])
    whole = np.column_stack([cells, blocks, signs * slow[:, None]])
    fit = sm.OLS(values, whole).fit()
    p_values = [
        fit.compare_f_test(sm.OLS(values, np.delete(whole, whole.shape[1] - 6 + option, axis=1)).fit())[1]
        for option in range(6)
    ]
    assert found.machine_blocks is not None
    assert found.machine_blocks.p_value == pytest.approx(6 * min(p_values), rel=1e-6)


def test_shares_are_whole_repetitions_where_these_suffice() -> None:
    study = asked(16, 32)
    known = _first_run(study)
    shares = [machine_share(study, known, member, 2).tasks for member in (0, 1)]
    assert [{task.repetition for task in share} for share in shares] == [{0}, {1}]
    assert len(shares[0]) + len(shares[1]) == len(study.plan(known))


@pytest.mark.parametrize("study", [asked(32, 32), followed(48)], ids=["words", "balanced"])
@pytest.mark.parametrize("machines", [2, 3])
def test_shares_are_blocks_of_the_design_otherwise(study: AnyScreening, machines: int) -> None:
    known = _first_run(study)
    shares = [machine_share(study, known, member, machines).tasks for member in range(machines)]
    assert sorted(task.id for share in shares for task in share) == sorted(task.id for task in study.plan(known).tasks)
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 3
    for name in "abcdef":
        for share in shares:
            on = np.mean([bool(task.configuration[name]) for task in share])
            assert on == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize(("study", "blocks"), [(asked(8, 8), 3), (followed(12), 6)], ids=["fraction", "optimal"])
def test_a_small_design_has_fewer_blocks_than_there_are_machines(study: AnyScreening, blocks: int) -> None:
    shares = [machine_share(study, Evidence(), member, 7).tasks for member in range(7)]
    assert [bool(share) for share in shares] == [True] * blocks + [False] * (7 - blocks)
    known = _first_run(study)
    shares = [machine_share(study, known, member, 7).tasks for member in range(7)]
    assert sorted(task.id for share in shares for task in share) == sorted(task.id for task in study.plan(known).tasks)
    assert not any(shares[blocks:])


@pytest.mark.parametrize("study", [asked(16, 32), asked(32, 32), followed(48)], ids=["whole", "words", "balanced"])
def test_each_machine_begins_with_runs_of_its_own_block(study: AnyScreening) -> None:
    for member in (0, 1):
        first = machine_share(study, Evidence(), member, 2).tasks
        assert len(first) == 5
        assert set(study.blocks_of(first, 2)) == {member}


def test_all_machines_together_give_up_a_hopeless_study() -> None:
    study = asked(16, 32)
    failed = Evidence(tuple(FakeEngine(lambda _: "no").run(machine_share(study, Evidence(), 0, 2).tasks)))
    assert len(failed.failed) == 5
    assert not machine_share(study, failed, 1, 2)


def test_a_run_that_repeats_a_suspect_one_is_in_its_block() -> None:
    study = asked(16, 32)
    first = study.plan(Evidence()).tasks[0]
    again = [replace(first, stage="again", repetition=2 * first.repetition + number) for number in range(2)]
    assert study.blocks_of([first, *again], 2) == 3 * study.blocks_of([first], 2)
    assert study.blocks_of([replace(first, stage="follow-up a")], 2) == [None]


def _indicators(names: list[str]) -> FloatArray:
    return np.array([[float(name == other) for other in sorted(set(names))] for name in names])


def _first_run(study: AnyScreening) -> Evidence:
    task = study.plan(Evidence()).tasks[0]
    return Evidence(tuple(FakeEngine(lambda _: {"latency": [1.0]}).run((task,))))
