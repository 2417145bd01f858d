"""Each parameter is of use to something that is called, or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import recorded, values

from hati.core import InputError
from hati.python import python_benchmark

AGAIN = """
import functools
import hati
from work import bag, rand as made


def like(function):
    return functools.wraps(function)(lambda *given, **named: function(*given, **named))


@hati.workload
@like
def some(count=3, rng=None):
    assert count == 5, count
    return list(range(count, 0, -1)),


@hati.workload
def any_place(*sizes):
    assert sizes == (5, 6), sizes
    return list(range(9, 0, -1)),


@hati.workload
def any_name(**sizes):
    assert sizes == {"n": 5, "m": 6}, sizes
    return list(range(9, 0, -1)),


assigned = some
"""


@pytest.fixture
def again(project: Path) -> Path:
    """A project with generators that take anything, or are somebody else's."""
    (project / "src" / "again.py").write_text(AGAIN)
    return project


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("lists:sort work:rand n=50 m=3", "lists:sort has no use for parameter m: rand takes n"),
        ("lists:sort work:rand m=50", "lists:sort has no use for parameter m: rand takes n"),
        ("lists:sort work:rand =50 =3", "lists:sort has no use for parameter 2 (3): rand takes n"),
        ("lists:sort again:assigned =5 =6", "lists:sort has no use for parameter 2 (6): some takes count"),
        ("lists:sort again:assigned n=5", "lists:sort has no use for parameter n: some takes count"),
        ("lists:squares - =5 =6", "lists:squares has no use for parameter 2 (6): squares takes n"),
        ("lists:squares - n=5 m=6", "lists:squares has no use for parameter m: squares takes n"),
        ("lists:nothing - =5", "lists:nothing has no use for parameter 1 (5): nothing takes none"),
        ("work:building - =5 =6", "work:building has no use for parameter 2 (6): building takes n"),
        ("work:building work:rand n=5", "work:building measures by itself, and takes no workload: leave work:rand out"),
    ],
)
def test_a_parameter_that_nothing_takes_is_refused(words: str, said: str, again: Path) -> None:
    method, workload, *given = words.split()
    named = [] if workload == "-" else [f"workload={workload}"]
    done = recorded(again, again, f"method={method}", *named, *(f"parameter=int:{each}" for each in given))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == f"hati: {said}"


@pytest.mark.parametrize(
    "words",
    [
        "lists:sort again:made =50",
        "lists:sort again:assigned =5",
        "lists:sort again:assigned count=5",
        "lists:sort again:any_place =5 =6",
        "lists:sort again:any_name n=5 m=6",
    ],
)
def test_generators_take_what_they_are_given_whoever_defines_them(words: str, again: Path) -> None:
    method, workload, *given = words.split()
    every = (f"method={method}", f"workload={workload}", *(f"parameter=int:{each}" for each in given))
    assert values(recorded(again, again, *every), "wall_time")


def test_one_may_be_for_the_workload_and_one_for_the_instance(again: Path) -> None:
    words = ("method=lists:Bag.contains", "workload=work:search", "instance=again:bag")
    assert values(recorded(again, again, *words, "parameter=int:n=9", "parameter=int:size=20"), "wall_time")
    done = recorded(again, again, *words, "parameter=int:n=9", "parameter=int:size=20", "parameter=int:m=1")
    assert done.stderr.endswith("has no use for parameter m: search takes n; bag takes size\n")


@pytest.mark.parametrize(
    ("workload", "parameters", "said"),
    [
        ("work:rand", [50, 3], r"lists:sort has no use for parameter 2 \(3\): rand takes n; leave it out"),
        ("again:made", [50, 3], r"lists:sort has no use for parameter 2 \(3\): made takes n"),
        ("work:rand", {"n": 50, "m": 3}, "lists:sort has no use for parameter m: rand takes n"),
        ("work:none", [3], r"lists:sort has no use for parameter 1 \(3\): none takes none"),
    ],
)
def test_what_the_working_tree_tells_is_refused_before_anything_runs(
    workload: str, parameters: list[int] | dict[str, int], said: str, again: Path
) -> None:
    with pytest.raises(InputError, match=said):
        python_benchmark("lists:sort", workload=workload, parameters=parameters, root=again)


def test_what_is_not_known_beforehand_is_left_to_the_recorder(again: Path) -> None:
    for workload in ("again:assigned", "again:any_place", "again:any_name"):
        python_benchmark("lists:sort", workload=workload, parameters=[5, 6], root=again)
    benchmark = python_benchmark("lists:sort", workload="work:rand", parameters=[5], root=again)
    assert "parameter=int:={n}" in benchmark.command
    benchmark = python_benchmark("lists:sort", workload="work:rand", parameters={"n": 5}, root=again)
    assert "parameter=int:n={n}" in benchmark.command
