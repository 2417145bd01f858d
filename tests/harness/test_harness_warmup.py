from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError
from hati.harness import leading, warmup


def test_the_larger_of_marked_and_fixed_counts() -> None:
    assert warmup(observations=10, marked=2, fixed=3) == 3
    assert warmup(observations=10, marked=5, fixed=3) == 5
    assert warmup(observations=1, marked=0, fixed=0) == 0


@pytest.mark.parametrize(("observations", "words"), [(1, "1 observation and 3"), (3, "3 observations and 3")])
def test_nothing_left_names_the_fix(observations: int, words: str) -> None:
    with pytest.raises(InputError, match=f"{words}.*lower `warmup`"):
        warmup(observations, marked=0, fixed=3)


def test_warmup_after_measured_is_refused() -> None:
    with pytest.raises(InputError, match="warm-up follows"):
        leading([True, False, True])


@given(st.integers(0, 50), st.integers(0, 50))
def test_leading_counts_the_marks_before_the_first_unmarked(marked: int, measured: int) -> None:
    assert leading([True] * marked + [False] * measured) == marked


@given(st.integers(1, 100), st.integers(0, 100), st.integers(0, 100))
def test_something_is_left_or_it_is_refused(observations: int, marked: int, fixed: int) -> None:
    try:
        count = warmup(observations, marked, fixed)
    except InputError:
        assert max(marked, fixed) >= observations
    else:
        assert marked <= count < observations
        assert fixed <= count
