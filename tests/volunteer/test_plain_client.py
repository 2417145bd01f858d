"""The client needs Python 3.9 and its standard library, and nothing else: as modules, and as one file."""

from __future__ import annotations

import ast
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import typer.main
from joining import Joining
from volunteer_server import job

from hati.cli.app import app
from hati.volunteer.command import OPTIONS
from hati.volunteer.zipapp import archive

CLIENT = Path(__file__).resolve().parents[2] / "src" / "hati" / "volunteer"
LOADED = """
import importlib.util, sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top != "volunteer":
            raise ImportError(f"{name} is not in the standard library")

sys.meta_path.insert(0, Nothing())
sys.path.insert(0, FOLDER)
import volunteer
for name in NAMES:
    __import__(f"volunteer.{name}")
print(len(NAMES))
"""


def test_every_module_needs_the_standard_library_alone() -> None:
    names = sorted(path.stem for path in CLIENT.glob("*.py") if path.stem != "__init__")
    code = LOADED.replace("FOLDER", repr(str(CLIENT.parent))).replace("NAMES", repr(names))
    done = subprocess.run([sys.executable, "-S", "-I", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{len(names)}\n"), done.stderr


@pytest.mark.parametrize("path", sorted(CLIENT.glob("*.py")), ids=lambda path: path.stem)
def test_every_module_is_python_3_9(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            named = {keyword.arg for keyword in node.keywords}
            assert not {"strict", "slots", "kw_only"} & named, f"{path.name}:{node.lineno}"
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            assert node.module == "__future__" or node.module.partition(".")[0] in sys.stdlib_module_names


def test_the_file_has_every_module_and_is_always_the_same() -> None:
    assert archive() == archive()
    with zipfile.ZipFile(io.BytesIO(archive())) as file:
        names = {name for name in file.namelist() if name.startswith("hati_join/")}
    assert names == {f"hati_join/{path.name}" for path in CLIENT.glob("*.py")}


def interpreters() -> list[Path]:
    """This interpreter, and the oldest supported one where there is one."""
    kept = [*Path.home().glob(".pyenv/versions/3.9.*/bin/python3.9"), *filter(None, [shutil.which("python3.9")])]
    return [Path(sys.executable), *map(Path, kept[:1])]  # pyenv's own, as its shim needs the home folder


@pytest.mark.parametrize("interpreter", interpreters(), ids=lambda path: path.name)
def test_it_runs_without_hati(joining: Joining, interpreter: Path) -> None:
    file = joining.folder / "hati-join.pyz"
    file.write_bytes(archive())
    joining.script.batch({"a": "from the artefact\n"}, [job("t")], command=["cat", "a"])
    done = subprocess.run(
        [interpreter, "-S", "-I", str(file), joining.url, "--ca", str(joining.ca), "--once", "--home", "h"],
        capture_output=True,
        text=True,
        check=False,
        cwd=joining.folder,
        env={"PATH": os.environ["PATH"], "HATI_LOCK": str(joining.folder / "lock"), "HOME": str(joining.folder)},
    )
    assert (done.returncode, joining.script.tasks) == (0, ["t"]), done.stderr
    assert joining.script.stdout() == "from the artefact\n"
    assert joining.script.machines[0]["sandbox"] == "bubblewrap"


def test_hati_join_has_the_same_options() -> None:
    command = typer.main.get_command(app).commands["join"]
    flags = {each.opts[0]: each.help for each in command.params if each.param_type_name == "option"}
    own = {flag: about.text for flag, about in OPTIONS.items()}
    assert {flag: text for flag, text in flags.items() if flag in own} == own
    assert set(flags) - set(own) == {"--write"}
