"""Hold settings of this machine while benchmarks run."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from hati.core import ExitStatus, InputError, Machine
from hati.core.wording import counted
from hati.probing.conditions import read_conditions
from hati.probing.holding import (
    HeldSetting,
    hold,
    refuse_holder,
    restore,
    restore_abandoned,
    steady_settings,
    writable,
)
from hati.studies.probe import Conditions
from hati.subject import this_machine

Announce = Callable[[str], None]
_SIGNALLED = 128
"""Added to the number of the signal that ended a command: its exit status, as in shells."""
_PR_SET_PDEATHSIG = 1


def apply_settings(command: Sequence[str], announce: Announce) -> int:
    """Hold settings that make times steady while a command runs, or until ``undo_settings``; return the exit status.

    The command runs without address space layout randomisation if ``setarch`` is installed.

    Raises:
        InputError: where this process may not change the settings, after the changes were announced, where another
            process holds settings, or where the command does not exist.
        NotPermittedError: where the kernel refuses a change; all settings are then as before.
    """
    if command and shutil.which(command[0]) is None:
        raise InputError(f"there is no program `{command[0]}`", fix="name one that is installed")
    _announce_restored(restore_abandoned(), announce)
    refuse_holder()
    settings = steady_settings()
    if settings and not writable(settings):
        for each in settings:
            announce(f"would set {_changed(each)}")
        fix = "run it on the host of this container" if os.geteuid() == 0 else "sudo hati probe --fit --apply"
        raise InputError("this process may not change these settings", fix=fix)
    if not settings:
        announce("no setting has to be changed")
    held = hold(settings, os.getpid() if command else None) if settings else ()
    for each in settings:
        announce(f"set {_changed(each)}")
    if not command:
        if settings:
            announce("restore them by `hati probe --undo`")
        return ExitStatus.OK
    try:
        ended = _ended_with_this(command)
        return ended if ended >= 0 else _SIGNALLED - ended
    finally:
        if held:
            _announce_restored(restore(own=held), announce)


def _ended_with_this(command: Sequence[str]) -> int:
    """Run a command that the kernel kills when this process ends, such as by a kill; return how it ended."""
    kernel, this = ctypes.CDLL(None), os.getpid()

    def bind() -> None:
        kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != this:
            os._exit(_SIGNALLED + signal.SIGKILL)

    return subprocess.run([*_prefix(), *command], check=False, preexec_fn=bind).returncode


def undo_settings(announce: Announce) -> None:
    """Restore the settings that are held.

    Raises:
        InputError: where a process that holds settings still runs.
        NotPermittedError: where one cannot be restored; it then stays on record.
    """
    refuse_holder()
    restored = restore()
    _announce_restored(restored, announce)
    if not restored:
        announce("no setting is held")


def machine_now(announce: Announce) -> tuple[Machine, Conditions]:
    """This machine, and its settings that change times or their variance."""
    return this_machine(datetime.now(UTC), announce), read_conditions()


def _prefix() -> tuple[str, ...]:
    return ("setarch", "-R") if shutil.which("setarch") else ()


def _announce_restored(settings: Sequence[HeldSetting], announce: Announce) -> None:
    if settings:
        announce(f"restored {counted(len(settings), 'setting')}: {', '.join(each.file for each in settings)}")


def _changed(each: HeldSetting) -> str:
    return f"/{each.file}: {each.before} -> {each.value}"
