"""The formulas that the decorators of a Python file state: found in its text, and read by its interpreter."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from hati.core import (
    InputError,
)
from hati.python.benchmark import PATIENCE, recorder
from hati.python.interpreter import Interpreter, located
from hati.python.sources import (
    parsed_file,
)

_HATI = "hati"
_SPL = "spl"
_LOOKS_STATED = re.compile(rb"^[ \t]*@(?:\w+\.)*spl\(", re.MULTILINE)


class StatedFunction(Struct, frozen=True):
    """The formulas that one decorator states on ``method``; ``aliases`` are given with them.

    ``known`` are other names in the formulas, as in the scope of the function.
    """

    method: str
    formulas: tuple[str, ...]
    aliases: Mapping[str, str]
    known: Mapping[str, str]
    line: int


def has_statements(file: Path) -> bool:
    """Whether a Python file uses ``@hati.spl``, by its text alone.

    A file that is not valid Python counts if a line begins like that: importing it then reports the error.
    """
    try:
        content = file.read_bytes()
    except OSError:
        return False
    if _HATI.encode() not in content or _SPL.encode() not in content:
        return False
    try:
        module = parsed_file(file)
    except InputError:
        return bool(_LOOKS_STATED.search(content))
    names = set(_names(module))
    return any(_states(decorator, names) for decorator in _decorators(module))


def read_statements(file: Path, root: Path, interpreter: Interpreter | None = None) -> tuple[StatedFunction, ...]:
    """The statements of a module of the project ``root``, which is imported by the interpreter that would measure it.

    Raises:
        InputError: for a file that is in no root of the interpreter, one that cannot be imported, and one with a
            statement on a function that has no name in the module.
    """
    interpreter = interpreter or Interpreter()
    program = located(interpreter.command, root)
    module = module_of(file, root, interpreter.roots)
    with TemporaryDirectory(prefix="hati-") as folder:
        script = Path(folder, "recorder.py")
        script.write_text(recorder(), encoding="utf-8")
        words = [program, str(script), f"tell={module}", f"working={root.resolve()}"]
        done = _ended([*words, *interpreter.arguments], root, file)
    if why := _why_not(done):
        places = ":".join(str(folder) for folder in _folders(root, interpreter.roots))
        again = f"PYTHONPATH={shlex.quote(places)} {shlex.quote(program)} -c 'import {module}'"
        raise InputError(f"{file} cannot be imported: {why}", fix=f"see: {again}")
    printed = json.loads(done.stdout)
    for line in printed["unnamed"]:
        raise InputError(
            f"{file}:{line}: @hati.spl stands on what no name of {module} leads to",
            fix="write it on a function or a method of its own name, above decorators that hide it such as @property",
        )
    return tuple(_statement(each) for each in printed["statements"])


def module_of(file: Path, root: Path, roots: tuple[str, ...]) -> str:
    """The module name of a file, for imports from the first root that contains it.

    Raises:
        InputError: where it cannot be imported from any root.
    """
    for folder in roots:
        top = (root / folder).resolve()
        if file.resolve().is_relative_to(top):
            parts = file.resolve().relative_to(top).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if parts and all(part.isidentifier() for part in parts):
                return ".".join(parts)
    listed = ", ".join(str(root / folder) for folder in roots)
    raise InputError(
        f"{file} is not a module that can be imported from {listed}",
        fix="move or rename it, or name its folder in `roots` of [python]",
    )


def _folders(root: Path, roots: tuple[str, ...]) -> list[Path]:
    """The existing roots, from which modules are imported."""
    return [place for place in ((root / folder).resolve() for folder in roots) if place.is_dir()]


def _why_not(done: subprocess.CompletedProcess[str]) -> str:
    """The reason why there is no output; empty if there is, even without statements."""
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it printed no error message"])[-1].removeprefix("hati: ")
    return "" if done.stdout else "it ended the process while it was imported"


def _ended(words: list[str], root: Path, file: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(
            words,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"importing {file} took over {PATIENCE:.0f} s", fix="see what it does as it is loaded"
        ) from None
    except OSError as error:
        raise InputError(f"{words[0]} cannot be started: {error.strerror}", fix="install it") from error


def _statement(printed: Mapping[str, object]) -> StatedFunction:
    method, formulas, aliases = printed["method"], printed["formulas"], printed["aliases"]
    known, line = printed["known"], printed["line"]
    assert isinstance(formulas, list)
    assert isinstance(aliases, dict)
    assert isinstance(known, dict)
    assert isinstance(line, int)
    return StatedFunction(str(method), tuple(formulas), aliases, known, line)


def _names(module: ast.Module) -> Iterator[str]:
    """The names of the decorator if it is imported directly."""
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == _HATI:
            yield from (alias.asname or alias.name for alias in node.names if alias.name == _SPL)


def _decorators(module: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from node.decorator_list


def _states(decorator: ast.expr, names: set[str]) -> bool:
    if not isinstance(decorator, ast.Call):
        return False
    function = decorator.func
    named = isinstance(function, ast.Name) and function.id in names
    return named or (isinstance(function, ast.Attribute) and function.attr == _SPL)
