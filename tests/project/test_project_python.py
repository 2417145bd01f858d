from __future__ import annotations

from pathlib import Path

import pytest

from hati.core import InputError
from hati.project import Past, PythonTable, parse_project
from hati.project.benchmarks import EnvironmentTable, RecordingTable

WHOLE = """
[python]
interpreter = "python3.12"
roots = ["lib", "."]
frozen_modules = false
hash_seed = 7

[python.recording]
observations = 20
seconds = 0.5
warmup = 0
overhead = "2%"
collector = "between"
memory = 1000000
timeout = "2m"

[python.environment]
past = "today"
network = true
extra = ["numpy>=2"]
options = ["--pre"]
"""


def read(text: str) -> PythonTable:
    return parse_project(text, Path("hati.toml")).python


def test_all_that_may_be_said_of_python_is_read() -> None:
    recording = RecordingTable(20, 0.5, 0, 0.02, "between", 1_000_000, 120.0)
    environment = EnvironmentTable(Past.TODAY, True, ("numpy>=2",), ("--pre",))
    assert read(WHOLE) == PythonTable("python3.12", ("lib", "."), "off", 7, recording, environment)
    assert read("") == PythonTable()
    assert read("[python]") == PythonTable()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[python]\nroot = []", r"2:1: unknown key 'root'; did you mean 'roots'"),
        ("[python]\nroots = []", r"2:9: roots is empty"),
        ("[python]\nroots = ['src', '../x']", r"2:17: '../x' is not a folder below the project's"),
        ("[python]\nhash_seed = 4294967296", r"2:13: hash_seed is 4294967296; give one from 0"),
        ("[python]\nfrozen_modules = 'on'", r"2:18: frozen_modules: expected true or false"),
        ("[python.recording]\nobservations = 0", r"2:16: observations: expected a number above 0, found 0"),
        ("[python.recording]\noverhead = 2", r"2:12: overhead: expected a share between 0 and 100 %"),
        ("[python.recording]\ncollector = 'some'", r"2:13: collector: 'some' is none of on, off, between"),
        ("[python.recording]\ntimeout = 'long'", r"2:11: .*'long'"),
        ("[python.environment]\npast = 'old'", r"2:8: past: 'old' is none of own, today"),
        ("[python.environment]\nextra = ['']", r"2:10: extra is empty"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"hati\.toml:{said}"):
        read(text)
