"""The program in processes of its own that need not load it: each is forked from a server that has.

Most of a short command's time is the loading of modules. Each command still has its own process, folder, environment,
standard streams and exit; tests of signals and of start-up run ``.venv/bin/hati`` itself. None takes apart at its end
what it shares with the server, which would take longer than most commands.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import io
import json
import math
import os
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import NamedTuple, NoReturn

import typer.main
from sqlalchemy import Engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from hati.harness import interference

LIBRARIES = (
    "alembic.command",
    "altair",
    "dd.bdd",
    "jinja2",
    "rich.table",
    "scipy.linalg",
    "scipy.special",
    "sklearn.model_selection",
    "sklearn.tree",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
    "vl_convert",
)


class Ended(NamedTuple):
    """A process that came to its end."""

    status: int
    out: str
    err: str


class Server:
    """Forks the program on request; a context manager."""

    def __enter__(self) -> Server:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def run(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], results: Path) -> Ended:
        """Run ``hati`` with those arguments; ``results`` is a folder for what it prints."""
        results.mkdir(exist_ok=True)
        out, err = results / "out", results / "err"
        asked = {
            "arguments": list(arguments),
            "folder": str(folder),
            "environment": dict(environment),
            "streams": [str(out), str(err)],
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        status = int(self._process.stdout.readline())
        return Ended(status, out.read_text(), err.read_text())


def build_once() -> None:
    """Let the commands of the program be made from its functions once in a process, and not at each call."""
    typer.main.get_command = functools.cache(typer.main.get_command)


_MOST_STATEMENTS = 5_000


def compile_once() -> None:
    """Let the statements of all SQLite stores of a process be compiled once, and not for each store that is opened.

    A compiled statement depends on the statement and on its dialect, and SQLite's is the same for every store.
    """
    statements = LRUCache[object, object](_MOST_STATEMENTS)
    Engine._compiled_cache = property(lambda _: statements, lambda _, __: None)
    SQLiteDialect_pysqlite.__eq__ = lambda self, other: type(self) is type(other)
    SQLiteDialect_pysqlite.__hash__ = lambda self: hash(type(self))


def quiet_machine() -> None:
    """Let no report warn of other programs, whatever runs beside the tests."""
    interference.MANY = math.inf


def _serve() -> None:
    for room in pkgutil.walk_packages(importlib.import_module("hati").__path__, "hati."):
        if not room.name.endswith("__main__"):
            importlib.import_module(room.name)
    for library in LIBRARIES:
        importlib.import_module(library)
    build_once()
    compile_once()
    from hati.cli.app import app

    typer.main.get_command(app)
    quiet_machine()
    _warm_up()
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _be_the_program(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


_TABLE = "a,b,c,time\n" + "".join(
    f"{a},{b},{c},{1 + a + 0.1 * b + 0.01 * c}\n" for a in (0, 1) for b in (0, 1) for c in (0, 1)
)


_HEEDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _warm_up() -> None:
    """Compute once what each command would: parsers, compiled statements and templates, the age of the code."""
    from hati.cli import main

    home, handlers = Path.cwd(), {number: signal.getsignal(number) for number in _HEEDED}
    with TemporaryDirectory() as folder, ExitStack() as silent:
        os.chdir(folder)
        Path("t.csv").write_text(_TABLE)
        silent.enter_context(redirect_stdout(io.StringIO()))
        silent.enter_context(redirect_stderr(io.StringIO()))
        for words in (
            ("space", "import", "t.csv", "--output", "hati.toml"),
            ("screen", "t.csv", "--space", "hati.toml", "--metric", "time", "--budget", "8", "--store", "s.sqlite"),
            ("runs", ".", "--store", "s.sqlite"),
        ):
            assert main(words) == 0
        os.chdir(home)
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _be_the_program(asked: dict[str, object]) -> NoReturn:
    from hati.cli import main

    os.chdir(str(asked["folder"]))
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.path[1:1] = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", *sys.path)]
    sources = [(os.devnull, os.O_RDONLY)]
    sources += [(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for path in asked["streams"]]
    for number, (path, flags) in enumerate(sources):
        opened = os.open(path, flags, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["hati", *asked["arguments"]]
    try:
        status = main()
    except SystemExit as ended:
        if not isinstance(ended.code, int):
            raise
        status = ended.code
    gc.collect()  # as the interpreter does at its end: stores are closed by it
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _serve()
