"""Optimal designs: optima by brute force, floors of efficiency, validity, augmentation, errors.

Runs made already, read from a table.

Augmenting the corrected Scr128 of the RES paper, whose important effects are B, J, C, F and I.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pytest

from hati.core import InputError
from hati.design import (
    Criterion,
    OptimalDesign,
    Reach,
    Replication,
    aliases,
    by_runs,
    candidates,
    from_generators,
    from_levels,
    letters,
    optimal_design,
    read_runs,
)
from hati.design.coding import Levels, Model, levels
from hati.design.optimal_designs import augment, entangled, runs_needed
from hati.project import read_feature_model
from hati.space import Option, Space, parse_formula

CRITERIA = list(Criterion)
SCR_128 = ["H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABEFG", "N=BCDEFG"]


def free(*sizes: int) -> Space:
    return Space(tuple(Option(letters(len(sizes))[i], tuple(range(size)), 0) for i, size in enumerate(sizes)))


def constrained() -> Space:
    options = tuple(Option(name, (0, 1, 2)[: 2 + (name in "cd")], 0) for name in "abcdef")
    return Space(options, (parse_formula("a == 0 or b == 0"), parse_formula("c == 2 => d != 1")))


def nested() -> Space:
    on = parse_formula("p")
    parent = Option("p", (False, True), False)
    children = (Option("x", (1, 2, 3), 1, active_if=on), Option("y", (False, True), False, active_if=on))
    return Space((parent, *children, *(Option(name, (0, 1), 0) for name in "uvw")))


def found(space: Space, runs: int, seed: int = 1, **how: object) -> OptimalDesign:
    return optimal_design(space, runs, np.random.default_rng(seed), **how)  # type: ignore[arg-type]  # keywords of several types


def efficiency(rows: Levels, space: Space, order: int) -> float:
    matrix = Model.of_order([len(option.settings) for option in space.options], order).matrix(rows)
    sign, logarithm = np.linalg.slogdet(matrix.T @ matrix / len(matrix))
    return float(np.exp(logarithm / matrix.shape[1])) if sign > 0 else 0.0


def bayes_value(rows: Levels, tau: float) -> float:
    """log |X'X + K/tau^2| of two-level options with all pairs potential, which from -1 to 1 have a range of two."""
    options = rows.shape[1]
    matrix = Model.of_order([2] * options, 2).matrix(rows)
    matrix[:, options + 1 :] /= 2.0
    prior = np.diag(np.where(np.arange(matrix.shape[1]) > options, tau**-2, 0.0))
    return float(np.linalg.slogdet(matrix.T @ matrix + prior)[1])


@pytest.mark.parametrize(
    ("sizes", "runs", "order"),
    [((2, 2, 2), 4, 1), ((2, 2, 2), 5, 1), ((2, 2, 2), 6, 1), ((2, 2, 2), 7, 2), ((3, 2, 2), 5, 1), ((3, 2), 6, 2)],
)
def test_the_optimum_that_all_choices_have(sizes: tuple[int, ...], runs: int, order: int) -> None:
    space = free(*sizes)
    points = np.array(list(product(*map(range, sizes))), dtype=np.int16)
    best = max(
        efficiency(points[list(rows)], space, order) for rows in combinations_with_replacement(range(len(points)), runs)
    )
    made = found(space, runs, order=order)
    assert made.fit.d_efficiency == pytest.approx(best, rel=1e-9)
    assert made.fit.d_efficiency == pytest.approx(efficiency(made.levels, space, order))


@pytest.mark.parametrize(("sizes", "runs"), [((2, 2, 2), 5), ((3, 2, 2), 6)])
def test_the_smallest_average_variance_that_all_choices_have(sizes: tuple[int, ...], runs: int) -> None:
    space = free(*sizes)
    points = np.array(list(product(*map(range, sizes))), dtype=np.int16)
    matrix = Model.of_order(sizes, 1).matrix(points)
    best = np.inf
    for rows in combinations_with_replacement(range(len(points)), runs):
        gram = matrix[list(rows)].T @ matrix[list(rows)]
        if np.linalg.matrix_rank(gram) == len(gram):
            best = min(best, float(np.einsum("ij,jk,ik->i", matrix, np.linalg.inv(gram), matrix).mean()))
    assert found(space, runs, criterion=Criterion.I).value == pytest.approx(best, rel=1e-4)


def test_the_best_constrained_choice() -> None:
    space = Space(free(2, 2, 3).options, (parse_formula("A == 0 or B == 0"),))
    among = candidates(space, np.random.default_rng(1))
    best = max(
        efficiency(among.levels[list(rows)], space, 1)
        for rows in combinations_with_replacement(range(len(among.levels)), 6)
    )
    assert found(space, 6).fit.d_efficiency == pytest.approx(best, rel=1e-9)


def test_orthogonal_designs_are_found() -> None:
    for space, runs in ((free(*[2] * 7), 8), (free(*[2] * 11), 12), (free(3, 3, 3, 3), 9), (free(4, 2, 2), 8)):
        assert found(space, runs).fit.d_efficiency == pytest.approx(1.0)


def test_as_good_as_a_regular_fraction_of_resolution_five() -> None:
    made = found(free(2, 2, 2, 2, 2), 16, order=2)
    assert made.fit.d_efficiency == pytest.approx(1.0)
    assert made.fit.largest_standard_error == pytest.approx(0.25)
    assert by_runs("ABCDE", 16).runs == made.runs


def test_saturated_seven_factors_beat_the_published_design() -> None:
    # SAS/QC documentation, OPTEX, saturated second-order design of 7 factors in 29 runs: 82.3 %.
    made = found(free(*[2] * 7), 29, order=2)
    assert made.fit.parameters == 29
    assert made.fit.d_efficiency > 0.823


def test_fourteen_factors_with_all_pairs() -> None:
    made = found(free(*[2] * 14), 128, order=2, starts=3)
    assert made.fit.parameters == 106
    assert made.fit.d_efficiency >= 0.815
    given = ((from_generators(letters(14), SCR_128).matrix + 1) // 2).astype(np.int16)
    more = found(free(*[2] * 14), 64, order=2, starts=3, fixed=given)
    assert np.array_equal(more.levels[:128], given)
    assert (more.fixed, more.runs) == (128, 192)
    assert more.fit.d_efficiency >= 0.95  # half of a shifted fraction; exchanges alone reach .94


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("space", [constrained(), nested()], ids=["constrained", "nested"])
def test_runs_are_valid_and_what_is_given_stays(space: Space, criterion: Criterion) -> None:
    given = candidates(space, np.random.default_rng(0)).levels[[0, 0, 3]]
    made = found(space, 20, criterion=criterion, order=1 + (criterion is Criterion.BAYES), fixed=given)
    assert all(space.valid(configuration) for configuration in from_levels(made.levels, space))
    assert np.array_equal(made.levels[:3], given)
    assert made.runs == 23
    again = found(space, 20, criterion=criterion, order=1 + (criterion is Criterion.BAYES), fixed=given)
    assert np.array_equal(made.levels, again.levels)


def test_a_space_too_large_to_list_is_sampled_and_polished() -> None:
    options = tuple(Option(f"o{i}", (0, 1), 0) for i in range(16))
    space = Space(options, (parse_formula("o0 == 1 => o1 == 1"), parse_formula("o2 == 0 or o3 == 0")))
    made = found(space, 40, starts=2)
    assert made.reach is Reach.SAMPLED
    assert all(space.valid(configuration) for configuration in from_levels(made.levels, space))
    assert made.fit.d_efficiency >= 0.80


def test_levels_and_configurations_are_each_others_inverse() -> None:
    space = nested()
    among = candidates(space, np.random.default_rng(1))
    assert np.array_equal(levels(from_levels(among.levels, space), space), among.levels)


def test_neighbours_differ_in_one_option_and_what_depends_on_it() -> None:
    space = nested()
    among = candidates(space, np.random.default_rng(1))
    off = levels([space.canonical({"p": False})], space)[0]
    on = levels([space.canonical({"p": True})], space)[0]
    of_off, of_on = among.neighbours(np.stack([off, on]))
    assert on.tolist() in of_off.tolist()
    assert (len(of_off), len(of_on)) == (4, 1 + 2 + 1 + 3)
    assert len(np.unique(of_on, axis=0)) == len(of_on)


def test_bayes_takes_more_potential_terms_than_runs() -> None:
    made = found(free(*[2] * 10), 24, criterion=Criterion.BAYES, order=2)
    assert len(made.potential) == 45
    assert made.fit.parameters == 11
    assert made.fit.d_efficiency > 0.9
    assert np.isfinite(made.value)


def test_bayes_is_at_least_as_good_as_a_fraction_of_resolution_four() -> None:
    made = found(free(*[2] * 6), 16, criterion=Criterion.BAYES, order=2)
    fraction = ((by_runs("ABCDEF", 16).matrix + 1) // 2).astype(np.int16)
    assert made.value > bayes_value(fraction, 1.0) + 0.5
    assert made.fit.d_efficiency > 0.95


@pytest.mark.parametrize("tau", [0.5, 1.0, 3.0])
def test_bayes_value_is_the_determinant_that_dumouchel_and_jones_define(tau: float) -> None:
    made = found(free(2, 2, 2), 6, criterion=Criterion.BAYES, order=2, tau=tau)
    assert made.value == pytest.approx(bayes_value(made.levels, tau), abs=1e-3)
    points = np.array(list(product(range(2), repeat=3)), dtype=np.int16)
    best = max(bayes_value(points[list(rows)], tau) for rows in combinations_with_replacement(range(8), 6))
    assert made.value == pytest.approx(best, abs=1e-3)


def test_exchanges_of_a_large_search_are_those_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    designs = []
    for many in (0.0, np.inf):
        monkeypatch.setattr("hati.design.exchanges._MANY", many)
        made = found(free(2, 3, 4, 5, 2, 3), 40, criterion=Criterion.BAYES, order=2, starts=2)
        designs.append((made.levels.tolist(), pytest.approx(made.value)))
    assert designs[0] == designs[1]


def test_no_library_of_linear_algebra_starts_threads() -> None:
    """Each has four threads before, also on one core, and none is loaded later."""
    script = """
import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits
from hati.design import optimal_design
from hati.design.exchanges import Exchange
from hati.space import Option, Space
from hati.stats import threads

improve, limited = Exchange.improve, set()

def libraries():
    return {each["filepath"]: each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

def limiting(modules):
    threadpool_limits(4, user_api="blas")
    assert set(libraries().values()) == {4}
    limited.update(libraries())
    return ThreadpoolController()

def counting(*given):
    found = improve(*given)
    assert libraries() == dict.fromkeys(limited, 1)
    print("counted")
    return found

threads._controller, Exchange.improve = limiting, counting
optimal_design(Space((Option("a", (0, 1), 0),)), 4, np.random.default_rng(1), starts=2)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == {"counted"}, done.stderr
    assert done.returncode == 0, done.stderr


def test_blocks_are_orthogonal_to_the_effects() -> None:
    made = found(free(2, 2, 2), 8, order=2, blocks=(0, 0, 0, 0, 1, 1, 1, 1))
    matrix = Model.of_order((2, 2, 2), 2).matrix(made.levels)
    assert made.fit.d_efficiency == pytest.approx(1.0)  # the block's contrast is the interaction of all three
    assert np.abs(matrix[:4].sum(axis=0) - matrix[4:].sum(axis=0)).max() == pytest.approx(0.0, abs=1e-9)


def test_blocks_of_listed_candidates() -> None:
    made = found(constrained(), 24, blocks=[i % 3 for i in range(24)])
    assert len(made.blocks) == 24
    assert made.fit.d_efficiency > 0.9 * found(constrained(), 24).fit.d_efficiency


def test_replicated_runs_can_be_excluded() -> None:
    for space in (free(2, 2, 2), Space(free(2, 2, 2, 2).options, (parse_formula("A == 0 or B == 0"),))):
        made = found(space, 8, replication=Replication.NONE)
        assert len(np.unique(made.levels, axis=0)) == 8
        with pytest.raises(InputError, match="13 distinct runs"):
            found(space, 13, replication=Replication.NONE)
    assert len(np.unique(found(free(2, 2), 12).levels, axis=0)) == 4


@pytest.mark.parametrize("seed", range(1, 9))
def test_given_runs_are_not_replicated_either(seed: int) -> None:
    space = free(2, 2, 2, 2, 2)
    given = np.random.default_rng(seed).permutation(np.array(list(product((0, 1), repeat=5)), dtype=np.int16))[:9]
    made = found(space, 23, seed, criterion=Criterion.BAYES, fixed=given, replication=Replication.NONE)
    assert len(np.unique(made.levels, axis=0)) == 32
    with pytest.raises(InputError, match="24 distinct runs cannot be chosen among 23 configurations"):
        found(space, 24, fixed=given, replication=Replication.NONE)


def test_what_the_runs_cannot_fit_is_named() -> None:
    with pytest.raises(InputError, match="6 runs cannot fit the 7 parameters") as error:
        found(free(2, 2, 2), 6, order=2)
    assert any(pair in error.value.message for pair in ("A x B", "A x C", "B x C"))
    with pytest.raises(InputError, match="terms: C;"):
        found(free(2, 2, 2), 1, fixed=np.array([[0, 0, 0], [1, 1, 0]], dtype=np.int16))


def test_what_the_space_cannot_tell_apart_is_left_out_and_named() -> None:
    together = Space(free(2, 2, 2).options, (parse_formula("A == B"),))
    made = found(together, 8, order=2)
    assert made.fit.terms == ("A", "C", "A:C")
    assert made.fit.dropped == ("B", "A:B", "B:C")
    tied = found(nested(), 24)
    assert tied.fit.reduced == ()
    assert tied.fit.dropped == ()


def test_more_wrong_requests() -> None:
    with pytest.raises(InputError, match="cannot choose 0 runs"):
        found(free(2, 2), 0)
    with pytest.raises(InputError, match="has no effects"):
        found(free(2, 2), 4, order=0)
    with pytest.raises(InputError, match="3 runs are in blocks, but there are 4"):
        found(free(2, 2), 4, blocks=(1, 2, 3))
    with pytest.raises(InputError, match="parameters, more than"):
        found(free(*[2] * 30), 100, order=3)
    with pytest.raises(InputError, match="no options"):
        found(Space(()), 4)


def test_options_with_one_setting_are_harmless() -> None:
    made = found(free(2, 1, 2), 4)
    assert made.fit.terms == ("A", "C")
    assert made.fit.dropped == ("B",)


@pytest.mark.acceptance
def test_a_real_space_of_thousands(shared_data: Path) -> None:
    model = shared_data / "configurable-systems" / "hipacc" / "FeatureModel.xml"
    space = read_feature_model(model).space
    made = found(space, 120, starts=1)
    assert made.reach is Reach.LISTED
    assert made.fit.parameters == 46
    assert made.fit.d_efficiency >= 0.855
    bayes = found(space, 120, starts=1, criterion=Criterion.BAYES, order=2)
    assert bayes.fit.d_efficiency >= 0.84
    assert all(space.valid(configuration) for configuration in from_levels(bayes.levels, space))


SPACE = Space(
    (
        Option("a", (False, True), False),
        Option("b", (1.0, 2.5), 1.0, active_if=parse_formula("a")),
        Option("c", ("x", "y"), "x"),
    ),
    (parse_formula("not b == 2.5 or c == 'x'"),),
)


def test_rows_in_any_order_of_columns_with_others_between() -> None:
    rows = read_runs("\ufefflatency,c,a,b\n3.5,y,false,\n1,x,1,2.50\n1,x,1,2.5\n", SPACE)
    assert rows.tolist() == [[0, -1, 1], [1, 1, 0], [1, 1, 0]]
    assert read_runs("a,b,c\n", SPACE).shape == (0, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.csv:1: there is no column for option 'a'"),
        ("a,b\n0,1\n", "r.csv:1: there is no column for option 'c'"),
        ("a,a,b,c\n", "r.csv:1: there are two columns for option 'a'"),
        ("a,b,c\n0,,x\n0,,z\n", "r.csv:3: 'z' is not a setting of option 'c'"),
        ("a,b,c\n1,,x\n", "r.csv:2: option 'b' is active here"),
        ("a,b,c\n1,2.5,y\n", "r.csv:2: this configuration is not valid"),
        ("a,b,c\n1,1\n", "r.csv:2: this row ends before column 'c'"),
        ('a,b,c\n"1,1,x\n', "this is not CSV"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_runs(text, SPACE, "r.csv")
    assert message in str(error.value)


NAMES = letters(14)
SIZES = (2,) * 14
SCR_128_AUGMENTATION = from_generators(NAMES, ["H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABEFG", "N=BCDEFG"])
LEVELS: Levels = ((SCR_128_AUGMENTATION.matrix + 1) // 2).astype(np.int16)
IMPORTANT = tuple((NAMES.index(letter),) for letter in "BJCFI")
SPACE_AUGMENTATION = Space(tuple(Option(name, (False, True), default=False) for name in NAMES))


def test_complete_de_aliasing_needs_635_runs() -> None:
    terms = entangled(LEVELS, SIZES, IMPORTANT, 14)
    assert len(terms) == 640
    assert runs_needed(LEVELS, SIZES, terms) == 635


def test_entangled_effects_are_the_aliases() -> None:
    terms = entangled(LEVELS, SIZES, IMPORTANT, 4)
    words = {
        tuple(NAMES.index(f) for f in a.factors) for letter in "BJCFI" for a in aliases(SCR_128_AUGMENTATION, letter, 4)
    }
    assert set(terms) == words | set(IMPORTANT)
    assert terms[:5] == IMPORTANT


@pytest.mark.parametrize(("runs", "error"), [(32, 0.099), (64, 0.077)])
def test_to_third_order_the_published_standard_errors_are_reached(runs: int, error: float) -> None:
    terms = entangled(LEVELS, SIZES, IMPORTANT, 3)
    assert len(terms) == 10
    assert runs_needed(LEVELS, SIZES, terms) == 5
    found = augment(SPACE_AUGMENTATION, LEVELS, terms, runs, np.random.default_rng(1))
    assert found.fit.largest_standard_error == pytest.approx(error, abs=6e-4)
    assert np.array_equal(found.levels[:128], LEVELS)
    assert len(found.levels) == 128 + runs


def test_too_few_runs_are_an_error_that_names_terms() -> None:
    terms = entangled(LEVELS, SIZES, IMPORTANT, 3)
    with pytest.raises(InputError, match=":"):
        augment(SPACE_AUGMENTATION, LEVELS, terms, 4, np.random.default_rng(1))
    with pytest.raises(InputError, match="too many"):
        entangled(np.zeros((4, 30), dtype=np.int16), (2,) * 30, ((0,),), 5)


def test_the_shift_between_the_runs_made_and_those_added_takes_a_run() -> None:
    terms = entangled(LEVELS, SIZES, IMPORTANT, 3)
    with pytest.raises(InputError):
        augment(SPACE_AUGMENTATION, LEVELS, terms, 5, np.random.default_rng(1))
    found = augment(SPACE_AUGMENTATION, LEVELS, terms, 6, np.random.default_rng(1))
    columns = Model(SIZES, terms).matrix(found.levels)
    later = np.repeat([0.0, 1.0], [128, 6])[:, None]
    assert np.linalg.matrix_rank(np.hstack([columns, later])) == len(terms) + 2


def test_without_replication_no_configuration_is_run_twice() -> None:
    found = augment(
        SPACE_AUGMENTATION,
        LEVELS,
        entangled(LEVELS, SIZES, IMPORTANT, 3),
        32,
        np.random.default_rng(1),
        Replication.NONE,
    )
    assert len(np.unique(found.levels, axis=0)) == 160
