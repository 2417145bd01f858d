"""A project with nested options and a constraint, and ``hati design`` for it."""

from __future__ import annotations

from typer.testing import CliRunner

from hati.cli.app import app

PROJECT = """
[options.a]
settings = [false, true]
[options.b]
settings = [1, 2, 4]
active_if = "a"
[options.c]
settings = ["x", "y"]
[options.d]
settings = ["x", "y"]

[space]
constraints = ["not (c == 'y' and d == 'y')"]
"""


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["design", *words], catch_exceptions=True)
    return done.exit_code, done.stdout if done.exception is None else str(done.exception)
