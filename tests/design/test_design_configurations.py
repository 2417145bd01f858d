"""From rows to configurations of a space, and the spaces that a two-level design does not fit.

The randomised order of runs.
"""

from __future__ import annotations

import pytest

from hati.core import Configuration, InputError
from hati.design import configurations, from_generators, full_factorial
from hati.space import Option, Space, parse_formula

JOURNAL = Option("journal", ("DELETE", "WAL"), "DELETE")
SYNC = Option("sync", (2, 0), 0)
CACHE = Option("cache", (False, True), True)


def test_minus_is_the_first_setting_whatever_the_default() -> None:
    space = Space((JOURNAL, SYNC, CACHE))
    found = configurations(from_generators(("journal", "sync", "cache"), ["C=AB"]), space)
    assert found == (
        Configuration({"journal": "DELETE", "sync": 2, "cache": True}),
        Configuration({"journal": "WAL", "sync": 2, "cache": False}),
        Configuration({"journal": "DELETE", "sync": 0, "cache": False}),
        Configuration({"journal": "WAL", "sync": 0, "cache": True}),
    )


def test_factors_are_options_by_name_in_any_order_or_by_letter() -> None:
    space = Space((JOURNAL, SYNC))
    by_name = configurations(full_factorial(("sync", "journal")), space)
    by_letter = configurations(full_factorial("AB"), space)
    assert by_name[1] == Configuration({"journal": "DELETE", "sync": 0})
    assert by_letter[1] == Configuration({"journal": "WAL", "sync": 2})


@pytest.mark.parametrize("factors", [("journal",), ("journal", "sink"), ("B", "A"), ("A", "B", "C")])
def test_other_factors_are_refused(factors: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="not the space's options") as caught:
        configurations(full_factorial(factors), Space((JOURNAL, SYNC)))
    assert "journal,sync" in str(caught.value)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Space((JOURNAL, Option("sync", (2, 1, 0), 2))), "'sync' has 3 settings"),
        (Space((JOURNAL, Option("sync", (2,), 2))), "'sync' has 1 setting"),
        (
            Space((JOURNAL, Option("sync", (2, 0), 2, active_if=parse_formula("journal == 'WAL'")))),
            "'sync' has no influence in some",
        ),
        (Space((JOURNAL, SYNC), (parse_formula("journal == 'WAL' or sync == 0"),)), "has constraints"),
    ],
)
def test_spaces_that_do_not_fit_are_refused_with_what_serves(space: Space, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        configurations(full_factorial(("journal", "sync")), space)
    assert caught.value.fix is not None
    assert "--optimal bayes" in caught.value.fix
