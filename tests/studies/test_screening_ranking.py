"""Options in order of influence, and which pair of an alias set is likely."""

from __future__ import annotations

from hati.stats import Term
from hati.studies.screening.analysis import Estimated
from hati.studies.screening.ranking import likely_pairs, rank


def effect(term: Term, share: float, *aliases: Term, important: bool = True) -> Estimated:
    return Estimated(term, aliases, 1.0, None, None, 0.1, None, 0.1, share, 0.01, important, 1.0)


def test_main_effects_come_first_and_equals_go_by_name() -> None:
    effects = [effect((2,), 0.5), effect((0,), 0.0, important=False), effect((1,), 0.0, important=False)]
    assert rank(effects, ["b", "a", "c"]) == ("c", "a", "b")


def test_an_important_interaction_counts_half_for_each_of_its_options() -> None:
    effects = [effect((0,), 0.30), effect((1,), 0.05), effect((2,), 0.10), effect((0, 1), 0.20)]
    assert rank(effects, "abc") == ("a", "b", "c")
    unimportant = [*effects[:3], effect((0, 1), 0.20, important=False)]
    assert rank(unimportant, "abc") == ("a", "c", "b")


def test_of_an_alias_set_the_pairs_with_the_most_important_parents_share() -> None:
    chained = effect((0, 1), 0.4, (2, 3), (4, 5), (0, 2, 4))
    assert likely_pairs(chained, {3}) == [(2, 3)]
    assert likely_pairs(chained, {0, 4}) == [(0, 1), (4, 5)]
    assert likely_pairs(chained, {0, 4, 5}) == [(4, 5)]
    assert likely_pairs(chained, set()) == [(0, 1), (2, 3), (4, 5)]
    effects = [effect((i,), 0.3 if i == 3 else 0.0, important=i == 3) for i in range(6)]
    assert rank([*effects, chained], "abcdef")[:2] == ("d", "c")
