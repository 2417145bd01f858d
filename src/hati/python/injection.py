"""The recorder as one file, which any interpreter runs without Hati, and what it says of Python files and names."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from hati.core import Benchmark, InputError
from hati.python.interpreter import Interpreter, located
from hati.python.sources import parsed_file

_FOLDER = Path(__file__).with_name("injected")

_START = '''"""Hati's recorder: measures a Python function in a separate process."""
import os, sys
SELF = os.path.abspath(__file__)
MAIN = __name__ == "__main__"  # else it is a child process of the subject's, which multiprocessing has started
if sys.version_info < (3, 9):
    sys.exit("hati: measuring needs Python 3.9 or later, and this is %d.%d" % sys.version_info[:2])
if MAIN and "HATI_HASH_SEED" not in os.environ:  # nobody knows the hash seed of this process: take one that is known
    words = [word for word in sys.argv[1:] if word.startswith("hash_seed=")]
    seed = words[0][10:] if words else str(int.from_bytes(os.urandom(4), "big"))
    frozen = [word[7:] for word in sys.argv[1:] if word.startswith("frozen=")]
    options = ["-X", "frozen_modules=" + frozen[0]] if frozen and frozen[0] else []
    os.environ.update(PYTHONHASHSEED=seed, HATI_HASH_SEED=seed)
    os.execv(sys.executable, [sys.executable, *options, SELF, *sys.argv[1:]])
if MAIN:
    del os.environ["HATI_HASH_SEED"]
if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(SELF):
    del sys.path[0]

from importlib.machinery import ModuleSpec

PACKAGE = "_hati_recorder"


class Carried:
    """Finds and loads the recorder's modules, which are in this file."""

    def find_spec(self, name, path=None, target=None):
        if name != PACKAGE and not name.startswith(PACKAGE + "."):
            return None
        return ModuleSpec(name, self, origin=SELF, is_package=name == PACKAGE)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        leaf = module.__name__.rpartition(".")[2] if "." in module.__name__ else "__init__"
        exec(compile(SOURCES[leaf], "<hati recorder: " + leaf + ">", "exec"), module.__dict__)


SOURCES = {
'''

_END = """}
sys.meta_path.insert(0, Carried())
from _hati_recorder import recorder

if MAIN:
    arguments = sys.argv[1:]
    del sys.argv[1:]  # a module that reads these as it is imported must not take them for its own
    sys.exit(recorder.main(arguments))
recorder.offer()
"""


@cache
def recorder() -> str:
    """The source of the recorder: standard library alone, Python 3.9 and later."""
    sources = {path.stem: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.py"))}
    return _START + "".join(f"{name!r}: {source!r},\n" for name, source in sources.items()) + _END


_RECORDER = "recorder.py"
_KINDS = ("method", "workload", "instance")
_PATIENCE = 60.0


def names_of(benchmark: Benchmark) -> tuple[tuple[str, str], ...]:
    """The kinds and references in the benchmark of a Python function; empty for another benchmark."""
    recorded = any(file.path == _RECORDER for file in benchmark.files)
    return tuple(_references(benchmark.command)) if recorded else ()


def _references(command: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in command:
        kind, equals, text = word.partition("=")
        if equals and kind in _KINDS:
            yield kind, text


def unresolved(names: Iterable[tuple[str, str]], root: Path, tree: Path, interpreter: Interpreter) -> dict[str, str]:
    """Return why references cannot be measured in the revision whose files are in ``tree``, by reference.

    Workloads and instances are those of the project ``root``.

    They are looked up by the interpreter that would measure them. Where its process ends early, nothing is known, and
    nothing is returned: the first run shows why.
    """
    wanted = [f"named.{kind}={text}" for kind, text in sorted(set(names))]
    if not wanted:
        return {}
    with TemporaryDirectory(prefix="hati-") as folder:
        script = Path(folder, _RECORDER)
        script.write_text(recorder(), encoding="utf-8")
        words = [interpreter.file(root), "-S", "-E", str(script), f"working={root.resolve()}"]
        try:
            done = subprocess.run(
                [*words, *interpreter.arguments, *wanted],
                cwd=tree,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
            )
            return dict(json.loads(done.stdout)) if done.returncode == 0 else {}
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return {}


_HATI = "hati"
_SPL = "spl"
_LOOKS_STATED = re.compile(rb"^[ \t]*@(?:\w+\.)*spl\(", re.MULTILINE)


class StatedFunction(Struct, frozen=True):
    """Formulas that one decorator states on ``method``; ``aliases`` are those given with them.

    ``known`` are other names in the formulas, as the function itself sees them.
    """

    method: str
    formulas: tuple[str, ...]
    aliases: Mapping[str, str]
    known: Mapping[str, str]
    line: int


def has_statements(file: Path) -> bool:
    """Whether a Python file has ``@hati.spl`` on something, by its text alone.

    A file that is not Python counts if a line begins so: importing it then reports the error.
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
    """What a module of the project ``root`` states; it is imported by the interpreter that would measure it.

    Raises:
        InputError: for a file that no root of the interpreter has, one that cannot be imported, and one where a
            statement stands on what cannot be found again.
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
    """What a file's module is called when it is imported from the first of the roots that has it.

    Raises:
        InputError: where it cannot be imported from any.
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
    """The roots that are there, from which modules are imported."""
    return [place for place in ((root / folder).resolve() for folder in roots) if place.is_dir()]


def _why_not(done: subprocess.CompletedProcess[str]) -> str:
    """Why there is no output; empty where there is, even without statements."""
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it ended without a word"])[-1].removeprefix("hati: ")
    return "" if done.stdout else "it ended by itself as it was loaded"


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
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"importing {file} took over {_PATIENCE:.0f} s", fix="see what it does as it is loaded"
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
    """The names of the decorator where it is imported directly."""
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
