"""What is measured is known by its content: of the working tree's files, and of the interpreter."""

from __future__ import annotations

import re
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
from measuring import QUICK, Measure, recorded, values

from hati.core import Benchmark, InputError, Outcome
from hati.python import Environment, Interpreter, python_benchmark
from hati.python.injected.installed import installed
from hati.python.sources import WorkingTree, imported_files

WORK = """
import hati
import sys, helpers.numbers
from helpers import texts
from math import pi


@hati.workload
def some(n):
    from late import more
    return more(n),


@hati.measured
def loop(spl, n):
    while spl.needs_more():
        with spl.measure():
            sum(range(n))
"""
FILES = {
    "src/work.py": WORK,
    "src/helpers/__init__.py": "from importlib import import_module\nimport_module('named')\n",
    "src/helpers/numbers.py": "from .deep import one\n",
    "src/helpers/deep.py": "try:\n    from .. import nothing\nexcept ImportError:\n    one = 1\n",
    "src/helpers/texts.py": "",
    "src/helpers/unused.py": "",
    "src/late.py": "def more(n): return n\n",
    "src/named.py": "if not __file__:\n    import broken\n",
    "src/broken.py": "this is not Python",
    "src/subject.py": "def get(n): return n\n",
    "src/elsewhere.py": "from work import loop, some\n",
}
TAKEN = {"work", "helpers/__init__", "helpers/numbers", "helpers/deep", "helpers/texts", "late", "named", "broken"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def by_workload(root: Path) -> Benchmark:
    return python_benchmark("subject:get", workload="work:some", parameters=(1,), root=root, recording=QUICK)


def by_itself(root: Path) -> Benchmark:
    return python_benchmark("work:loop", parameters=(10,), root=root, recording=QUICK)


def from_elsewhere(root: Path) -> Benchmark:
    return python_benchmark("elsewhere:loop", parameters=(10,), root=root, recording=QUICK)


def test_what_is_imported_is_found_wherever_the_statement_stands(project: Path) -> None:
    found = imported_files(WorkingTree(project, ("src", ".")), ["work"])
    assert found == {Path("src", f"{name}.py") for name in TAKEN}
    (project / "src" / "helpers" / "deep.py").rename(project / "src" / "helpers" / "deep.cpython-311.so")
    assert Path("src/helpers/deep.cpython-311.so") in imported_files(WorkingTree(project, ("src",)), ["work"])


@pytest.mark.parametrize("make", [by_workload, by_itself, from_elsewhere])
def test_an_edit_of_what_is_taken_from_the_working_tree_is_another_benchmark(make: Measure, project: Path) -> None:
    before = make(project).definition
    assert make(project).definition == before
    for name in TAKEN:
        file = project / "src" / f"{name}.py"
        content = file.read_text()
        file.write_text(f"{content}\n# edited\n")
        assert make(project).definition != before, name
        file.write_text(content)
    for name in ("subject", "helpers/unused"):
        (project / "src" / f"{name}.py").write_text("# edited\n")
    assert make(project).definition == before


def test_what_is_measured_holds_no_path_of_this_machine(project: Path) -> None:
    own = Interpreter(environment=Environment())
    for benchmark in (
        by_itself(project),
        python_benchmark("work:loop", parameters=(9,), root=project, interpreter=own),
    ):
        for path in (project, Path(sys.executable), Path(sys.executable).parent, Path.cwd()):
            assert str(path) not in benchmark.definition
        assert f"version={sys.implementation.name}-{sys.version.split()[0]}" in benchmark.definition


def test_another_python_is_another_benchmark(project: Path) -> None:
    program = project / "optimised"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -O "$@"\n')
    program.chmod(0o755)
    usual, same, other = (
        python_benchmark("work:loop", parameters=(9,), root=project, interpreter=Interpreter(command)).definition
        for command in ("", sys.executable, "./optimised")
    )
    assert usual == same
    assert other != usual
    with pytest.raises(InputError, match="there is no interpreter 'python9'; correct `interpreter`"):
        python_benchmark("work:loop", parameters=(9,), root=project, interpreter=Interpreter("python9"))
    (project / "optimised").write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(InputError, match="is not a Python that measures: it printed no error message"):
        python_benchmark("work:loop", parameters=(9,), root=project, interpreter=Interpreter("./optimised"))


def test_the_interpreter_that_runs_hati_measures_whatever_the_search_path_has(
    project: Path, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = project / "bin" / "python3"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    runs = measure(project, by_itself(project), by_workload(project))
    assert [run.outcome for run in runs] == [Outcome.DONE] * 2, [run.detail for run in runs]


def test_a_python_that_was_not_planned_with_does_not_measure(project: Path) -> None:
    done = recorded(project, project, "method=work:loop", "parameter=int:n=10", "version=cpython-2.0")
    assert done.returncode == 1
    assert done.stderr.endswith(", and the measurement was planned for cpython-2.0; start it again\n")


def record(folder: Path, name: str, commit: str = "") -> Path:
    """What an installed package leaves of itself."""
    place = folder / f"{name}.dist-info"
    place.mkdir(parents=True, exist_ok=True)
    if commit:
        (place / "direct_url.json").write_text(f'{{"vcs_info": {{"commit_id": "{commit}", "vcs": "git"}}}}')
    return place


ARCHIVE = " sha256=0a1b"


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ('{{"archive_info": {{"hash": "sha256={0}", "hashes": {{"sha256": "{0}"}}}}}}', ARCHIVE),
        ('{{"archive_info": {{"hashes": {{"sha256": "{0}"}}}}, "url": "file:///srv/w.whl"}}', ARCHIVE),
        ('{{"archive_info": {{"hash": "sha256={0}"}}, "url": "file:///srv/w.whl"}}', ARCHIVE),
        ('{{"archive_info": {{}}, "url": "file:///srv/{0}.whl"}}', ""),
        ('{{"archive_info": {{"hashes": {{}}}}, "url": "file:///srv/{0}.whl"}}', ""),
        ('{{"dir_info": {{"editable": true}}, "url": "file:///srv/{0}"}}', ""),
    ],
)
def test_an_archive_that_was_installed_is_known_by_its_hash(info: str, told: str, tmp_path: Path) -> None:
    place = record(tmp_path, "dep-1.0")
    (place / "direct_url.json").write_text(info.format("0a1b"))
    assert installed([str(tmp_path)]) == f"dep 1.0{told}\n"


def with_packages(project: Path, folder: Path) -> Interpreter:
    """The tests' interpreter, with packages in a folder of its own."""
    program = project / "packaged"
    program.write_text(f'#!/bin/sh\nexport PYTHONPATH="{folder}:relative"\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return Interpreter("./packaged")


def test_installed_packages_are_those_that_python_itself_finds() -> None:
    found = {(each.name, each.version) for each in distributions() if "-" in Path(str(each._path)).stem}  # type: ignore[attr-defined]  # it tells no path else
    plain = {f"{re.sub('[-_.]+', '-', name).lower()} {version}" for name, version in found}
    told = {" ".join(line.split(" ")[:2]) for line in installed(sys.path).splitlines()}
    assert told == plain
    assert len(told) > 10


def test_an_upgrade_of_what_is_installed_is_another_benchmark(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "packages"
    interpreter, own = with_packages(project, folder), Interpreter("./packaged", environment=Environment())

    def definition(asked: Interpreter = interpreter) -> str:
        return python_benchmark("work:loop", parameters=(9,), root=project, interpreter=asked).definition

    place = record(folder, "dep-1.0")
    before, before_own = definition(), definition(own)
    assert definition() == before
    record(Path("relative"), "other-1.0")
    (folder / "dep-1.0.data").mkdir()
    (folder / "Source.egg-info").mkdir()
    assert definition() == before
    place = place.rename(folder / "dep-1.1.dist-info")
    upgraded = definition()
    assert upgraded != before
    record(folder, "dep-1.1", commit="0a1b")
    from_commit = definition()
    assert from_commit not in {before, upgraded}
    record(folder, "dep-1.1", commit="0a1c")
    assert definition() not in {before, upgraded, from_commit}
    assert definition(own) == before_own
    assert str(tmp_path) not in upgraded


def test_what_is_installed_after_planning_is_not_measured(project: Path, tmp_path: Path, measure: Measure) -> None:
    folder = tmp_path / "packages"
    interpreter = with_packages(project, folder)
    record(folder, "dep-1.0")
    benchmark = python_benchmark("work:loop", parameters=(10,), root=project, recording=QUICK, interpreter=interpreter)
    [run] = measure(project, benchmark)
    assert run.outcome is Outcome.DONE, run.detail + run.output
    record(folder, "more-1.0")
    [run] = measure(project, benchmark)
    assert run.outcome is not Outcome.DONE
    assert "changed since the measurement was planned; start it again" in run.detail + run.output


def listed(benchmark: Benchmark, folder: Path) -> str:
    """The file of what a benchmark was planned with, as a word."""
    [file] = [file for file in benchmark.files if file.path == "imports.txt"]
    path = folder / "imports.txt"
    path.write_text(file.template.removeprefix("{% raw %}").removesuffix("{% endraw %}"))
    return f"imports={path}"


def test_what_is_loaded_from_the_working_tree_is_what_was_planned_with(project: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "src" / "subject.py").write_text("def get(n): return n\n")
    words = ("method=subject:get", "workload=work:some", "parameter=int:n=1")
    planned = listed(by_workload(project), tmp_path)
    assert values(recorded(project, tree, *words, planned), "wall_time")
    (project / "src" / "late.py").write_text("def more(n): return n + 1\n")
    edited = recorded(project, tree, *words, planned)
    assert edited.stderr.endswith("hati: src/late.py was edited since the measurement was planned; start it again\n")
    (project / "src" / "late.py").write_text("more = __import__('un' + 'seen').more\n")
    (project / "src" / "unseen.py").write_text("def more(n): return n\n")
    hidden = recorded(project, tree, *words, listed(by_workload(project), tmp_path))
    assert "hati: src/unseen.py of the working tree was loaded, as unseen, and no import in" in hidden.stderr
    assert not hidden.stdout
