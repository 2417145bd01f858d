"""The number of threads on which linear algebra runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from hati.stats import threads as of_linear_algebra
from hati.stats.threads import on_one_thread


def threads() -> set[int]:
    """The number of threads of each library that is loaded."""
    assert np.linalg.inv(np.eye(2))[0, 0] == 1.0
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    with threadpool_limits(4, user_api="blas"):
        assert threads() == {4}
        yield


def test_a_function_has_one_thread_and_its_caller_those_from_before() -> None:
    @on_one_thread
    def found(number: int, *, more: int) -> tuple[int, set[int]]:
        """Add."""
        return number + more, threads()

    assert found(1, more=2) == (3, {1})
    assert threads() == {4}
    assert found.__doc__ == "Add."


def test_an_error_gives_the_threads_back() -> None:
    @on_one_thread
    def wrong() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        wrong()
    assert threads() == {4}


def test_the_libraries_are_searched_again_only_after_a_module_that_loads_one(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[ThreadpoolController] = []

    def searched() -> ThreadpoolController:
        searches.append(ThreadpoolController())
        return searches[-1]

    monkeypatch.setattr(of_linear_algebra, "ThreadpoolController", searched)
    of_linear_algebra._controller.cache_clear()
    found = on_one_thread(threads)
    assert [found(), found()] == [{1}, {1}]
    assert len(searches) == 1
    monkeypatch.setattr(of_linear_algebra, "_WITH_BLAS", frozenset({"sys"}))
    found()
    assert len(searches) == 2
    of_linear_algebra._controller.cache_clear()
