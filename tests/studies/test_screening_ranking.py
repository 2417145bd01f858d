"""Options in order of influence, and which pair of an alias set is likely."""

from __future__ import annotations

from itertools import product

import numpy as np

from hati.core import replace
from hati.stats import Term
from hati.studies.screening.contrasts import Estimated, likely_pairs, named_by_heredity, rank


def effect(term: Term, share: float, *aliases: Term, important: bool = True) -> Estimated:
    return Estimated(
        term=term,
        aliases=aliases,
        estimate=1.0,
        interval=None,
        standard_error=None,
        relative=0.1,
        relative_interval=None,
        contrast=0.1,
        share=share,
        p_value=0.01,
        important=important,
        half_normal=1.0,
    )


def test_main_effects_come_first_and_equals_go_by_name() -> None:
    effects = [effect((2,), 0.5), effect((0,), 0.0, important=False), effect((1,), 0.0, important=False)]
    assert rank(effects, ["b", "a", "c"]) == ("c", "a", "b")


def test_an_important_interaction_counts_half_for_each_of_its_options() -> None:
    effects = [effect((0,), 0.30), effect((1,), 0.05), effect((2,), 0.10), effect((0, 1), 0.20)]
    assert rank(effects, "abc") == ("a", "b", "c")
    unimportant = [*effects[:3], effect((0, 1), 0.20, important=False)]
    assert rank(unimportant, "abc") == ("a", "c", "b")
    close = [effect((0,), 0.02), effect((1,), 0.05), effect((2,), 0.16), effect((0, 1), 0.20)]
    assert rank(close, "abc") == ("c", "b", "a"), "the whole share would put a and b before c"


def test_the_likely_pairs_of_an_alias_set_share_it_equally() -> None:
    mains = [effect((i,), 0.15 if i == 4 else 0.0, important=i == 4) for i in range(5)]
    assert rank([*mains, effect((0, 1), 0.4, (2, 3))], "abcde") == ("e", "a", "b", "c", "d")


def test_of_an_alias_set_the_pairs_with_the_most_important_parents_share() -> None:
    chained = effect((0, 1), 0.4, (2, 3), (4, 5), (0, 2, 4))
    assert likely_pairs(chained, {3}) == [(2, 3)]
    assert likely_pairs(chained, {0, 4}) == [(0, 1), (4, 5)]
    assert likely_pairs(chained, {0, 4, 5}) == [(4, 5)]
    assert likely_pairs(chained, set()) == [(0, 1), (2, 3), (4, 5)]
    effects = [effect((i,), 0.3 if i == 3 else 0.0, important=i == 3) for i in range(6)]
    assert rank([*effects, chained], "abcdef")[:2] == ("d", "c")


def test_an_interaction_is_named_by_the_pair_with_the_most_important_parents() -> None:
    # The half of a 2^4: the fourth column is the product of the others, so 01 = 23, 02 = 13, 03 = 12.
    base = np.array(list(product([-1, 1], repeat=3)), dtype=np.int8)
    matrix = np.column_stack([base, base.prod(axis=1)]).astype(np.int8)
    mains = [replace(effect((i,), 0.1, important=i >= 2), contrast=i + 1.0) for i in range(4)]
    named = named_by_heredity([*mains, effect((0, 1), 0.2, (2, 3)), effect((0, 2), 0.2, (1, 3))], matrix)
    assert named[4].term == (2, 3)
    assert named[4].aliases == ((0, 1),)
    assert named[5].term == (1, 3)


def test_a_pair_that_is_the_negative_of_another_never_names_it() -> None:
    base = np.array(list(product([-1, 1], repeat=3)), dtype=np.int8)
    matrix = np.column_stack([base, -base.prod(axis=1)]).astype(np.int8)
    mains = [effect((i,), 0.1, important=i >= 2) for i in range(4)]
    (named,) = named_by_heredity([*mains, effect((0, 1), 0.2, (2, 3))], matrix)[4:]
    assert named.term == (0, 1)
