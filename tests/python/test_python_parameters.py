"""Each parameter is of use to something that is called, or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import QUICK, Measure, recorded, values

from hati.core import Benchmark, InputError, Outcome
from hati.python import PythonGenerator, PythonMethod, python_benchmark

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
def filled(kind, n, rng, *, low=0):
    assert (kind, low) == ("uni=form {x}", 3), (kind, low)
    return [rng.random() for _ in range(n)],


@hati.instance
def sized(kind, n):
    assert kind == 2.5, kind
    return bag(n)


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
        (
            "work:building work:rand n=5",
            "work:building is a measuring function and takes no workload: leave work:rand out",
        ),
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


FILLED = ("method=lists:sort", "workload=again:filled", "workload.argument=text:=uni=form {x}")


def test_a_generators_own_arguments_come_before_parameters(again: Path) -> None:
    assert values(recorded(again, again, *FILLED, "parameter=int:n=50", "parameter=int:low=3"), "wall_time")
    done = recorded(again, again, *FILLED, "parameter=int:=50", "parameter=int:=3")
    said = "parameter 2 (3): filled takes kind, n, low, of which ('uni=form {x}') is given"
    assert done.stderr == f"hati: lists:sort has no use for {said}\n"
    many = recorded(again, again, *FILLED, *("workload.argument=int:=1",) * 2)
    assert many.stderr == "hati: filled takes kind, n, low, and is given 3 in brackets\n"
    words = ("method=lists:Bag.contains", "workload=work:search", "instance=again:sized", "parameter=int:=20")
    assert values(recorded(again, again, *words, "instance.argument=real:=2.5"), "wall_time")


@pytest.mark.parametrize(
    ("workload", "parameters", "said"),
    [
        ("work:rand", [50, 3], r"lists:sort has no use for parameter 2 \(3\): rand takes n; leave it out"),
        ("again:made", [50, 3], r"lists:sort has no use for parameter 2 \(3\): made takes n"),
        ("work:rand", {"n": 50, "m": 3}, "lists:sort has no use for parameter m: rand takes n"),
        ("work:none", [3], r"lists:sort has no use for parameter 1 \(3\): none takes none"),
        ("work:rand", [], "rand needs n; give it as a parameter"),
        ("work:rand", {"n": 50, "size": 3}, "lists:sort has no use for parameter size: rand takes n"),
        ("work:rand(50, 'x')", [], "rand takes n, and is given 2 in brackets; leave some out"),
        ("work:rand(50)", [3], r"no use for parameter 1 \(3\): rand takes n, of which \(50\) is given"),
        ("again:filled('x')", {"low": 3}, "filled needs n; give it as a parameter"),
        ("again:any_name", [3], r"no use for parameter 1 \(3\): any_name takes any others by name"),
        (
            "work:rand(n)",
            [],
            r"'work:rand\(n\)' has arguments that are not numbers and texts; write as rand\('uniform', 3\)",
        ),
    ],
)
def test_what_the_working_tree_tells_is_refused_before_anything_runs(
    workload: str, parameters: list[int] | dict[str, int], said: str, again: Path
) -> None:
    with pytest.raises(InputError, match=said):
        python_benchmark("lists:sort", workload=workload, parameters=parameters, root=again)


def test_what_is_not_known_beforehand_is_left_to_the_recorder(again: Path) -> None:
    for workload in ("again:assigned", "again:some"):
        python_benchmark("lists:sort", workload=workload, parameters=[5, 6], root=again)
    benchmark = python_benchmark("lists:sort", workload="work:rand", parameters=[5], root=again)
    assert "parameter=int:={n}" in benchmark.command
    benchmark = python_benchmark("lists:sort", workload="work:rand", parameters={"n": 5}, root=again)
    assert "parameter=int:n={n}" in benchmark.command


def test_a_loop_lacks_nothing_and_its_parameters_have_their_own_names(again: Path) -> None:
    assert dict(python_benchmark("work:building", parameters=[5], root=again).workload) == {"n": 5}
    with pytest.raises(InputError, match="building needs n; give it as a parameter"):
        python_benchmark("work:building", root=again)
    with pytest.raises(InputError, match=r"no use for parameter 2 \(3\): building takes n"):
        python_benchmark("work:building", parameters=[5, 3], root=again)


def test_what_generators_are_given_is_part_of_what_is_measured(again: Path, measure: Measure) -> None:
    def made(workload: str | PythonGenerator) -> Benchmark:
        parameters = {"n": 9, "low": 3}
        return python_benchmark("lists:sort", workload=workload, parameters=parameters, root=again, recording=QUICK)

    other, one = made("again:filled('{}')"), made("again:filled('uni=form {x}')")
    assert one.name == "lists:sort[filled('uni=form {x}')]"
    assert dict(one.workload) == {"n": 9, "low": 3}
    assert one.definition != other.definition
    assert made(PythonGenerator(PythonMethod("again", "filled"), ("{}",))) == other
    assert str(PythonGenerator.parse("again:filled(-1, 2.5, 'it\\'s')")) == 'again:filled(-1, 2.5, "it\'s")'
    assert [run.outcome for run in measure(again, one, other)] == [Outcome.DONE, Outcome.FAILED]


def test_a_workload_and_an_instance_of_one_name_are_two(again: Path) -> None:
    made = "import hati\nfrom lists import Bag\n\n@hati.{}\ndef search({}):\n    return Bag([n])\n"
    again.joinpath("src", "one.py").write_text(made.format("workload", "n, low"))
    again.joinpath("src", "two.py").write_text(made.format("instance", "n"))
    shared = {"workload": "one:search", "instance": "two:search", "root": again}
    for parameters in ([5, 20], {"n": 5, "low": 20}):
        benchmark = python_benchmark("lists:Bag.contains", parameters=parameters, **shared)  # type: ignore[arg-type]  # of all types
        assert benchmark.name == "lists:Bag.contains[search, search]"
    with pytest.raises(InputError, match=r"parameter 3 \(7\): search takes n, low; search takes n; leave it out"):
        python_benchmark("lists:Bag.contains", parameters=[5, 20, 7], **shared)  # type: ignore[arg-type]  # of all types
