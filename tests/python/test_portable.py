"""What of a benchmark of a Python function is the same on other machines."""

from __future__ import annotations

from pathlib import Path

from hati.core import Benchmark, Metric, Reader, ReaderKind, replace
from hati.python import of_any_interpreter, python_benchmark


def test_only_the_interpreter_and_what_is_installed_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def f(n): ...\n")
    here = python_benchmark("m:f", parameters=(1,), root=tmp_path)
    words = [word for word in here.command if not word.startswith(("version=", "packages="))]
    assert len(words) == len(here.command) - 2
    there = replace(here, command=(*words, "version=another", "packages=others"))
    assert here.definition != there.definition
    assert of_any_interpreter(here.definition) == of_any_interpreter(there.definition)
    other = replace(here, command=(*here.command, "source=another"))
    assert of_any_interpreter(here.definition) != of_any_interpreter(other.definition)


def test_what_is_no_python_function_stays_as_it_is() -> None:
    made = Benchmark("b", ("b", "version=2"), Reader(ReaderKind.HATI), (Metric("time", "s"),))
    assert of_any_interpreter(made.definition) == made.definition
    assert of_any_interpreter("") == ""
