"""Print docs/reference/cli.md: the help of every verb, from the code.

Run it as: .venv/bin/python scripts/cli_reference.py > docs/reference/cli.md
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator

HEAD = """# Command line

Made from the code by `scripts/cli_reference.py`; the tests check that it is up to date.

`hati VERB --help` prints the same. `--debug`, anywhere, shows the traceback of an error. Exit statuses are in
[Formats](formats.md#exit-status); an interrupted command ends with 130. Every verb that works on a project
takes its folder by `--project PATH`; verbs without other arguments take it as an argument, too.
"""


def verbs() -> Iterator[tuple[str, ...]]:
    """Every command by its words."""
    from typer.main import get_command

    from hati.cli.app import app

    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]  # it is a group
        below = getattr(command, "commands", None)
        yield from ((name, other) for other in below) if below else [(name,)]


def help_of(words: tuple[str, ...]) -> str:
    """The help of a command."""
    from hati.cli.app import app

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        app([*words, "--help"], prog_name="hati", standalone_mode=False)
    return "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())


def main() -> None:
    os.environ["COLUMNS"] = os.environ["TERMINAL_WIDTH"] = "100"
    parts = [HEAD, *(f"## hati {' '.join(words)}\n\n```text\n{help_of(words)}\n```\n" for words in verbs())]
    print("\n".join(parts), end="")


if __name__ == "__main__":
    main()
