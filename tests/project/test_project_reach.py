"""Options whose settings reach no benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

from hati.project import parse_project
from hati.project.project import unreached, unreached_warning

BENCHMARK = """
[[benchmark]]
name = "main"
command = ["sort", "{size}", "{{plain}}"]
reader = "process"

[[benchmark.metric]]
name = "wall_time"
unit = "s"
"""
OPTIONS = """
[options.size]
settings = [1, 2]

[options.plain]
settings = [1, 2]
"""


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ("", ("plain",)),
        ('argument = "-n {}"', ()),
        ('env = "PLAIN"', ()),
        ('setup = ["echo", "{}"]', ()),
        ('[options.other]\nsettings = [1, 2]\nargument = "-n {}:{plain}"', ()),
        ('[options.other]\nsettings = [1, 2]\nsetup = ["echo", "{}", "{plain}"]', ()),
        ('argument = "-n {}"\n[options.other]\nsettings = [1, 2]', ("other",)),
        ('[options.other]\nsettings = [1, 2]\nenv = "O"\nactive_if = "plain == 1"', ()),
        ('[space]\nconstraints = ["plain == 1 => size == 2"]', ()),
    ],
)
def test_an_option_reaches_a_benchmark_in_one_of_several_ways(tmp_path: Path, more: str, left: tuple[str, ...]) -> None:
    project = parse_project(BENCHMARK + OPTIONS + more, tmp_path / "hati.toml")
    assert unreached(project) == left
    assert bool(unreached_warning(project)) is bool(left)


def test_an_option_of_a_template_reaches_its_benchmark(tmp_path: Path) -> None:
    (tmp_path / "t.j2").write_text("plain={{ plain }}")
    file = '\n[[benchmark.file]]\npath = "t"\ntemplate = "t.j2"\n'
    assert unreached(parse_project(BENCHMARK + file + OPTIONS, tmp_path / "hati.toml")) == ()


def test_a_setting_that_the_machine_has_needs_no_way_to_a_benchmark(tmp_path: Path) -> None:
    more = '\nargument = "{}"\n[options.compiler]\nsettings = ["gcc", "clang"]\nhas = ["{}", "--version"]\n'
    assert unreached(parse_project(BENCHMARK + OPTIONS + more, tmp_path / "hati.toml")) == ()


def test_without_a_benchmark_nothing_is_missing(tmp_path: Path) -> None:
    assert unreached(parse_project(OPTIONS, tmp_path / "hati.toml")) == ()


def test_the_warning_names_the_options_and_the_ways(tmp_path: Path) -> None:
    more = "\n[options.other]\nsettings = [1, 2]"
    text = unreached_warning(parse_project(BENCHMARK + OPTIONS + more, tmp_path / "hati.toml"))
    assert text.startswith("options plain, other reach no benchmark, so that their settings are without effect: write ")
