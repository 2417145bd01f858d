"""The command line: a file for each verb, each a thin layer over the library.

``main`` is the program. It turns every error into a message of one to three lines and an exit status.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from contextlib import suppress

INTERRUPTED = 130
FAULT = 70
"""EX_SOFTWARE of sysexits.h; a traceback of Python ends with 1, which would mean slower."""
_MANY_OBJECTS = 300_000

__all__ = ["FAULT", "INTERRUPTED", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with the given arguments (default: those of the process), and return its exit status."""
    if list(sys.argv[1:] if arguments is None else arguments) == ["--version"]:
        return _show_version()
    # Objects of modules live as long as the process: repeated garbage collections over them would delay the start.
    gc.set_threshold(_MANY_OBJECTS)
    try:
        from hati.cli.app import run  # inside, so that Ctrl-C during the import leaves no traceback either
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a broken installation of whatever kind
        with suppress(Exception):
            sys.stderr.write(f"error: Hati cannot be loaded: {type(error).__name__}: {error}; install it again\n")
        return FAULT
    try:
        return run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - of standard error, on which nothing can be reported
        return FAULT


def _show_version() -> int:
    """Print the version without loading any verb."""
    from importlib.metadata import version

    with suppress(BrokenPipeError):
        sys.stdout.write(f"hati {version('hati')}\n")
        sys.stdout.flush()
    return 0
