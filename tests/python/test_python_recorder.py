from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from clocks import CLOCKS, Clocks
from measuring import BASE, recorded, values

import hati.python
from hati.python.injected import marks

OLD = {"lists.py": "class Bag:\n    def __init__(self, n): self.n = n\n    def take(self): return 'old'\n"}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_arguments_are_fresh_for_every_call_and_results_are_used_up(project: Path) -> None:
    done = recorded(project, project, "method=lists:sort", "workload=work:rand", "parameter=int:n=50", "seconds=60")
    assert len(values(done, "wall_time")) == 2
    lazy = recorded(project, project, "method=lists:squares", "parameter=int:n=20000", "seconds=60")
    assert len(values(lazy, "wall_time")) == 2
    assert "used up" in lazy.stderr


def test_parameters_without_generators_are_given_by_name(project: Path) -> None:
    body = "import sys\n{}\n    sys.stderr.write(f'{{base}} to the {{exp}}\\n')\n"
    for head in ("def power(base, exp):", "def power(other=0, *, base, exp):", "def power(exp=1, more=2, base=3):"):
        written(project / "src", {"powers.py": body.format(head)})
        words = "method=powers:power", "parameter=int:exp=3", "parameter=int:base=10"
        assert recorded(project, project, *words).stderr.splitlines()[-1] == "10 to the 3"
    written(project / "src", {"powers.py": body.format("def power(base, exp):")})
    inorder = recorded(project, project, "method=powers:power", "parameter=int:=3", "parameter=int:=10")
    assert inorder.stderr.splitlines()[-1] == "3 to the 10"
    values(recorded(project, project, "method=math:pow", "parameter=int:=3", "parameter=int:=10"), "wall_time")


def test_the_peak_is_that_of_the_calls(project: Path) -> None:
    small, large = (
        values(recorded(project, project, "method=lists:large", f"parameter=int:n={n}"), "peak_memory")[0]
        for n in (1, 200_000_000)
    )
    assert 1.9e8 < large - small < 2.5e8


@pytest.fixture(params=CLOCKS.values(), ids=CLOCKS)
def clocks(request: pytest.FixtureRequest) -> Clocks:
    """Simulated clocks: quick, slow, coarse."""
    found: Clocks = request.param
    return found


def test_the_peak_is_without_the_arguments_of_other_calls(project: Path, clocks: Clocks) -> None:
    seconds = 1e-9 * clocks.cost / 0.01 / 200  # of which some 200 calls are long enough for the clocks
    source = f"""
import hati, time

def short(block): time.sleep({seconds!r})

@hati.workload
def made(n): return bytes([1]) * n
"""
    written(project / "src", {"blocks.py": source})
    words = ("method=blocks:short", "workload=blocks:made", "overhead=0.01")
    small, large = (recorded(project, project, *words, f"parameter=int:={n}", clocks=clocks) for n in (1, 2**18))
    assert values(large, "batch")[0] * 2**18 > 2**25
    assert values(large, "peak_memory")[0] - values(small, "peak_memory")[0] < 2**23


def test_quantiles_of_calls_that_are_too_short_cost_no_mean(project: Path, clocks: Clocks) -> None:
    written(project / "src", {"sleeping.py": "from time import sleep\n"})
    words = ("method=sleeping:sleep", "overhead=0.01")
    short, enough = 1e-9 * clocks.cost, 1e-9 * clocks.cost / 0.01
    done = recorded(project, project, *words, "calls=single", f"parameter=real:={short!r}", clocks=clocks)
    assert values(done, "single_calls") == [0]
    assert values(done, "batch")[0] > 1
    said = "hati: calls are too short to be timed individually: their mean is known, their quantiles are not\n"
    assert done.stderr == said
    for calls in ("single", "batched"):
        long = recorded(project, project, *words, f"parameter=real:={1.5 * enough!r}", f"calls={calls}", clocks=clocks)
        assert (values(long, "single_calls"), long.stderr) == ([1], "")


def test_a_turn_that_is_too_short_to_be_timed_is_reported(project: Path, clocks: Clocks) -> None:
    source = """
import hati, time

@hati.measured
def sleeping(spl, seconds):
    while spl.needs_more():
        with spl.measure():
            time.sleep(seconds)
"""
    written(project / "src", {"sleeping.py": source})
    words = ("method=sleeping:sleeping", "overhead=0.01")
    short, long = (
        recorded(project, project, *words, f"parameter=real:={seconds!r}", clocks=clocks)
        for seconds in (1e-9 * clocks.cost, 1.1e-9 * clocks.cost / 0.01)
    )
    said = r"hati: the clock's cost or resolution is [0-9.]+% of an observation: time more work per observation\n"
    assert re.fullmatch(said, short.stderr)
    assert values(long, "wall_time")
    assert not long.stderr


def test_a_clock_that_stands_still_is_reported(project: Path) -> None:
    done = recorded(project, project, "method=lists:nothing", clocks=Clocks(0, 0))
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"hati: perf_counter_ns stands still for \d+ readings: nothing can be timed\n", done.stderr)


def test_the_collector_is_as_configured(project: Path) -> None:
    for way, said in (("on", "True"), ("off", "False"), ("between", "False")):
        done = recorded(project, project, "method=lists:collected", "overhead=0.9", f"collector={way}")
        assert done.stderr.splitlines()[-1] == f"collector {said}"


def test_a_receiver_can_be_fresh_for_every_call(project: Path) -> None:
    words = ("method=lists:Bag.take", "workload=work:none", "parameter=int:=1")
    values(recorded(project, project, *words, "instance=work:new_bag"), "wall_time")
    kept = recorded(project, project, *words, "instance=work:bag")
    assert "IndexError: pop from empty list" in kept.stderr


def test_what_the_subject_prints_is_no_reading(project: Path) -> None:
    done = recorded(project, project, "method=lists:get", "parameter=int:n=1")
    assert "'value': 1" in done.stderr
    assert all(value < 1 for value in values(done, "wall_time"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("method=lists:sorty", "workload=work:rand"), "lists has no 'sorty'; did you mean 'sort'?"),
        (("method=lists:sort", "workload=work:plain"), "work:plain is not a workload: write @hati.workload above it"),
        (("method=lists:sort", "instance=work:bag"), "lists:sort is not a method of a class, and takes no instance"),
        (("method=lists:sort", "workload=work:rand"), "rand needs n: give it as a parameter"),
        (("method=work:ended",), "its controller needed more: loop `while spl.needs_more():`"),
    ],
)
def test_what_cannot_be_measured_is_said(words: tuple[str, ...], said: str, project: Path) -> None:
    done = recorded(project, project, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip().endswith(said)


def test_the_hash_seed_is_another_each_time_or_the_one_that_was_asked_for(project: Path) -> None:
    told = [values(recorded(project, project, "method=lists:nothing"), "hash_seed") for _ in range(2)]
    assert told[0] != told[1]
    assert values(recorded(project, project, "method=lists:nothing", "hash_seed=7"), "hash_seed") == [7]


def pythons() -> list[str]:
    """The interpreters of other versions that are there."""
    beside = [*Path(BASE).resolve().parents[2].glob("3.*/bin/python"), *Path("/usr/bin").glob("python3.[0-9]*")]
    return sorted(str(one) for one in beside if re.search(r"3\.(9|1\d)\b", str(one)) and "config" not in one.name)


@pytest.mark.acceptance
@pytest.mark.parametrize("python", pythons())
def test_every_version_of_python_runs_it(python: str, project: Path) -> None:
    done = recorded(
        *(project, project, "method=lists:Bag.contains", "workload=work:search", "instance=work:bag"),
        *("parameter=int:=9", "frozen=off"),
        python=python,
    )
    assert values(done, "cpu_time")


def test_processes_that_the_subject_starts_do_not_measure(tmp_path: Path) -> None:
    pool = """
import multiprocessing
import hati


def double(n):
    return 2 * n


@hati.spl("SELF <= 9 s")
def spawned():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(double, [3]) == [6]
"""
    tree = written(tmp_path / "tree", {"pool.py": pool})
    assert len(values(recorded(tree, tree, "method=pool:spawned", "observations=1", "warmup=0"), "wall_time")) == 1


def test_an_instance_is_of_the_revisions_class_though_the_generator_is_beside_the_new_one(tmp_path: Path) -> None:
    new = """
import hati

class Bag:
    def __init__(self, n): self.n = n
    def take(self): raise RuntimeError("the new one")

@hati.workload
def none(n): return ()

@hati.instance
def bag(n): return Bag(n)
"""
    tree = written(tmp_path / "tree", OLD)
    working = written(tmp_path / "working", {"lists.py": new})
    words = ("method=lists:Bag.take", "workload=lists:none", "instance=lists:bag", "parameter=int:n=1")
    assert values(recorded(working, tree, *words), "wall_time")
    assert "RuntimeError: the new one" in recorded(working, working, *words).stderr


def test_a_measuring_function_is_the_working_trees_and_calls_the_revisions_functions(tmp_path: Path) -> None:
    new = """
import hati
from pkg.more import only_here

def parse(): raise RuntimeError("the new one")

@hati.measured
def parsing(spl):
    only_here()
    while spl.needs_more():
        with spl.measure():
            parse()
"""
    tree = written(tmp_path / "tree", {"pkg/__init__.py": "", "pkg/parser.py": "def parse(): return 1\n"})
    working = written(
        tmp_path / "working",
        {"pkg/__init__.py": "", "pkg/parser.py": new, "pkg/more.py": "def only_here(): pass\n"},
    )
    assert values(recorded(working, tree, "method=pkg.parser:parsing"), "wall_time")


MEASURING = """
import functools
import hati

def plain(): return {own}
@functools.lru_cache(maxsize=None)
def cached(n): return {own}
def called(text): return {own} + text
part = functools.partial(called, "")
def unnamed(function): return lambda: function()
@unnamed
def decorated(): return {own}
class Thing:
    def __call__(self): return {own}
thing = Thing()
TABLE = {{"plain": plain}}
SIZE = {size}
"""
MEASURED = """
@hati.measured
def measuring(spl, n):
    told = [plain(), cached(1), part(), decorated(), Thing()(), thing(), TABLE["plain"]()]
    assert told == ["old"] * 7, told
    assert SIZE == 2
    while spl.needs_more():
        with spl.measure():
            sum(range(n))
"""


def test_a_measuring_function_has_all_that_is_called_from_the_revision(tmp_path: Path) -> None:
    old, new = (MEASURING.format(own=repr(own), size=size) for own, size in (("old", 1), ("new", 2)))
    tree = written(tmp_path / "tree", {"m.py": old})
    working = written(tmp_path / "working", {"m.py": new + MEASURED})
    assert values(recorded(working, tree, "method=m:measuring", "parameter=int:n=1000"), "wall_time")
    assert "['new', 'new'" in recorded(working, working, "method=m:measuring", "parameter=int:n=9").stderr


@pytest.mark.parametrize(
    ("more", "held"),
    [
        ("ready = functools.partial(called, 'x')\n", "ready of the working tree's m holds called"),
        ("again = {'of': [cached]}\n", "again of the working tree's m holds cached"),
        ("class More(Thing): pass\n", "More of the working tree's m holds Thing"),
        ("def late(what=decorated): return what()\n", "late of the working tree's m holds decorated"),
        ("def outer(what):\n    return lambda: what()\nmade = outer(cached.__wrapped__)\n", "made .* holds cached"),
    ],
)
def test_what_would_hold_the_working_trees_functions_is_refused(more: str, held: str, tmp_path: Path) -> None:
    tree = written(tmp_path / "tree", {"m.py": MEASURING.format(own="'old'", size=1)})
    new = MEASURING.format(own="'new'", size=2) + more + MEASURED
    done = recorded(written(tmp_path / "working", {"m.py": new}), tree, "method=m:measuring", "parameter=int:n=1000")
    assert done.returncode == 1
    said = f"^hati: {held} of the working tree, not of the revision: call .* by its name$"
    assert re.search(said, done.stderr, re.M)


def test_code_of_the_working_tree_is_never_taken_for_a_revisions(tmp_path: Path) -> None:
    tree = written(tmp_path / "tree", {"other.py": ""})
    working = written(tmp_path / "working", {"lists.py": "def sort(): pass\n"})
    done = recorded(working, tree, "method=lists:sort")
    assert done.stderr == "hati: there is no module lists in the revision\n"
    told = recorded(working, tree, "method=lists:sort", path=str(working))
    assert told.stderr == f"hati: lists was found in the working tree ({working}/lists.py), not in the revision\n"


def test_a_revision_that_has_another_hati_finds_the_decorators(tmp_path: Path) -> None:
    work = "import hati\nfrom hati import Performance\n\n@hati.workload\ndef none(): return ()\n"
    tree = written(tmp_path / "tree", {"hati/__init__.py": "def old(): pass\n"})
    working = written(tmp_path / "working", {"work.py": work})
    assert values(recorded(working, tree, "method=hati:old", "workload=work:none"), "wall_time")


BINDING = """
import hati
import hati.python
from hati import python
from hati.python import {names}

assert python is hati.python and hati.python.Once is Once and measured is hati.measured


@workload
def none():
    spl = Once()
    assert spl.needs_more() and not spl.needs_more()
    assert str(Performance("m:f", 1) <= "1 s") == "m:f(1) <= 1 s"
    return ()


@spl("SELF <= 1 s")
def called(): ...
"""


@pytest.mark.parametrize("files", [{}, {"hati.py": ""}, {"hati/__init__.py": ""}])
def test_what_the_binding_offers_is_there_whatever_hati_is(files: dict[str, str], tmp_path: Path) -> None:
    names = [name for name in hati.python.__all__ if hasattr(marks, name)] + ["Once", "SELF", "Formula", "Performance"]
    working = written(tmp_path / "working", {**files, "m.py": BINDING.format(names=", ".join(names))})
    assert values(recorded(working, working, "method=m:called", "workload=m:none"), "wall_time")
    told = recorded(working, working, "tell=m", "roots=.")
    assert "m:called" in told.stdout, told.stderr


def test_what_only_an_installed_hati_has_is_said_in_a_line(tmp_path: Path) -> None:
    source = "try:\n    from hati.python import Calls\nexcept ImportError:\n    pass\ndef called(): {}\n"
    working = written(tmp_path / "working", {"m.py": source.format("...")})
    assert values(recorded(working, working, "method=m:called"), "wall_time")
    written(working, {"m.py": source.format("from hati.python import Recording")})
    said = "hati.python has no 'Recording' for measured code: import it in the function that uses it"
    assert recorded(working, working, "method=m:called").stderr == f"hati: {said}\n"


ENDING = """
import hati
import os
import sys
import time

def leaves(n):
    sys.exit(0)

def says():
    sys.exit("enough\\nof it")

def forks(n):
    if os.fork() == 0:
        return 1
    return 2

def ends_its_child(n):
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0

def raises():
    raise ValueError("bad\\nvalue")

def child_raises():
    child = os.fork()
    if child == 0:
        raise ValueError("bad\\nvalue")
    os.waitpid(child, 0)

def child_goes_on_and_raises():
    if os.fork() == 0:
        time.sleep(0.2)
        raise KeyError(1)

def many_children_raise():
    for _ in range(50):
        child = os.fork()
        if child == 0:
            raise ValueError("x" * 5000)
        os.waitpid(child, 0)

@hati.measured
def forking(spl):
    while spl.needs_more():
        forks(1)

@hati.measured
def open_ended(spl):
    while spl.needs_more():
        spl.start()
        sum(range(1000))

@hati.measured
def started_before(spl):
    spl.start()
    while spl.needs_more():
        sum(range(1000))
    spl.end()

@hati.measured
def around(spl):
    with spl.measure():
        while spl.needs_more():
            sum(range(1000))

@hati.measured
def ended_behind(spl):
    while spl.needs_more():
        spl.start()
        sum(range(1000))
    spl.end()
"""

_AROUND = "hati: the measuring function times its whole loop: write spl.start() and spl.end(), or "
_AROUND += "`with spl.measure():`, inside `while spl.needs_more():`"
_CHILD = "hati: a child that the measured function forks failed: "


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("leaves", "parameter=int:=1"), "hati: the measured code ended the process, as with sys.exit"),
        (("says",), "hati: the measured code ended the process, as with sys.exit: enough"),
        (("forks", "parameter=int:=1"), "hati: the measured function forks, and the child returns from it: .*"),
        (("forking",), "hati: the measured function forks, and the child returns from it: .*"),
        (("raises",), "ValueError: bad"),
        (("open_ended",), "hati: the measuring function did not call spl.start.* equally often: .*"),
        (("ended_behind",), "hati: the measuring function did not call spl.start.* equally often: .*"),
        (("started_before",), re.escape(_AROUND)),
        (("around",), re.escape(_AROUND)),
        (("child_raises",), f"{_CHILD}ValueError: bad"),
        (("child_goes_on_and_raises",), f"{_CHILD}KeyError: 1"),
        (("many_children_raise",), f"{_CHILD}ValueError: x+"),
        (("leaves", "roots=nothere", "parameter=int:=1"), "hati: there is no module .* which has no folder nothere.*"),
    ],
)
def test_why_nothing_was_recorded_is_the_last_line(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    tree = written(tmp_path, {"ending.py": ENDING})
    done = recorded(tree, tree, f"method=ending:{words[0]}", *words[1:])
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(said, done.stderr.splitlines()[-1])


def test_a_function_may_fork_where_its_child_ends(tmp_path: Path) -> None:
    tree = written(tmp_path, {"ending.py": ENDING})
    done = recorded(tree, tree, "method=ending:ends_its_child", "parameter=int:=1")
    assert values(done, "wall_time")
    assert done.stderr == ""


def test_a_module_that_ends_as_it_is_loaded_is_told_of(tmp_path: Path) -> None:
    tree = written(tmp_path, {"ending.py": "import sys\nsys.exit('no more')\n"})
    said = "hati: ending ended the process while it was imported: no more\n"
    assert recorded(tree, tree, "method=ending:f").stderr == said


def test_of_a_module_that_forks_as_it_is_imported_only_one_process_tells_what_is_stated(tmp_path: Path) -> None:
    source = "import hati, os\nchild = os.fork()\nif child:\n    os.waitpid(child, 0)\n"
    tree = written(tmp_path, {"forked.py": f"{source}\n@hati.spl('SELF <= 1 s')\ndef f(): ...\n"})
    told = recorded(tree, tree, "tell=forked", "roots=.")
    assert [each["method"] for each in json.loads(told.stdout)["statements"]] == ["forked:f"], told.stderr
