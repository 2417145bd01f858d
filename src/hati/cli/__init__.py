"""The command line: a file for each verb, each a thin layer over the library.

``main`` is the program. It turns every error into a message of one to three lines and an exit status.
"""

from __future__ import annotations

import _thread
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130
FAULT = 70
"""EX_SOFTWARE of sysexits.h; a traceback of Python ends with 1, which would mean slower."""
_MANY_OBJECTS = 300_000

__all__ = ["FAULT", "INTERRUPTED", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with the given arguments (default: those of the process), and return its exit status."""
    try:
        if arguments is not None:
            return _run(arguments)
        _end_at_once_if_interrupted()
        status = _run(sys.argv[1:])
        _end_at_once_if_interrupted()
        gc.freeze()  # else Python searches all modules for garbage, several times, before the process ends
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - of standard error, on which nothing can be reported
        return FAULT
    return status


def _run(arguments: Sequence[str]) -> int:
    if list(arguments) == ["--version"]:
        return _show_version()
    # Objects of modules live as long as the process: repeated garbage collections over them would delay the start.
    gc.set_threshold(_MANY_OBJECTS)
    try:
        from hati.cli.app import run
    except Exception as error:  # noqa: BLE001 - a broken installation of whatever kind
        sys.stderr.write(f"error: Hati cannot be loaded: {type(error).__name__}: {error}; install it again\n")
        return FAULT
    return run(arguments)


def _end_at_once_if_interrupted() -> None:
    """Let Ctrl-C end the process at once while nothing is under way: imports can show it as a traceback, or lose it."""
    import signal

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    sys.unraisablehook = _interrupt_again


def _interrupt_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Interrupt again after a finalizer, such as that of an import's lock, where Python drops the exception."""
    if unraisable.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(_thread.interrupt_main, ())
    else:
        sys.__unraisablehook__(unraisable)


def _show_version() -> int:
    """Print the version without loading any verb."""
    from importlib.metadata import version

    try:
        sys.stdout.write(f"hati {version('hati')}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        from hati.cli.output import discard_output, output_error, say

        discard_output()
        say(f"error: {(known := output_error(error))}")
        return known.exit_status
    return 0
