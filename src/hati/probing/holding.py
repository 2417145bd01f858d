"""Settings of the kernel that are held or injected, and restored, even after a kill; links of known rate."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hati.core import InputError, decode
from hati.probing.conditions import system_root
from hati.probing.kernel import NotPermittedError
from hati.probing.process_marks import beginning
from hati.whole_files import replace_file

_CPUS = "sys/devices/system/cpu"
_CLOCK = "sys/devices/system/clocksource/clocksource0"
_KEPT = "run/hati/held-settings.json"
"""In a folder that a restart empties, as a restart also resets the settings."""


class HeldSetting(Struct, frozen=True):
    """A file of the kernel, its previous value, and the held value.

    ``holder`` is the process that restores it (None: none), which began ``holder_began`` clock ticks after the machine:
    a later process may have its id.
    """

    file: str
    before: str
    value: str
    holder: int | None = None
    holder_began: int | None = None


class HeldSettings(Struct, frozen=True):
    """Settings in the order of their changes."""

    settings: tuple[HeldSetting, ...] = ()


def steady_settings(root: Path | None = None) -> tuple[HeldSetting, ...]:
    """The settings to change for steady times: governors, turbo, siblings, clock source."""
    top = root or system_root()
    wanted = [(f"{_CPUS}/intel_pstate/no_turbo", "0", "1"), (f"{_CPUS}/cpufreq/boost", "1", "0")]
    wanted.append((f"{_CPUS}/smt/control", "on", "off"))
    found = [*_governors(top), *(HeldSetting(*each) for each in wanted if _read(top / each[0]) == each[1])]
    clock = _read(top / _CLOCK / "current_clocksource")
    if clock not in {"", "tsc"} and "tsc" in _read(top / _CLOCK / "available_clocksource").split():
        found.append(HeldSetting(f"{_CLOCK}/current_clocksource", clock, "tsc"))
    return tuple(found)


def _governors(top: Path) -> Iterator[HeldSetting]:
    for file in sorted((top / _CPUS).glob("cpu*/cpufreq/scaling_governor")):
        before, known = _read(file), _read(file.with_name("scaling_available_governors")).split()
        if before != "performance" and (not known or "performance" in known):
            yield HeldSetting(str(file.relative_to(top)), before, "performance")


def writable(settings: Sequence[HeldSetting], root: Path | None = None) -> bool:
    """Whether this process may change all of the settings, and record their previous values."""
    top = root or system_root()
    folder = next(each for each in (top / _KEPT).parents if each.exists())
    return os.access(folder, os.W_OK) and all(os.access(top / each.file, os.W_OK) for each in settings)


def hold(
    settings: Sequence[HeldSetting], holder: int | None = None, root: Path | None = None
) -> tuple[HeldSetting, ...]:
    """Change settings, after writing their values to a file from which ``restore`` reads them; return the changed ones.

    One that was held before, and still has that value, is not among them.

    Raises:
        InputError: if a process holds settings.
        NotPermittedError: if one cannot be changed; these are then restored, and those held before stay.
    """
    top = root or system_root()
    kept = _kept(top).settings
    _refuse([each for each in kept if each.holder is not None])
    before = tuple(each for each in kept if _read(top / each.file) == each.value)
    known = {(each.file, each.value) for each in before}
    began = None if holder is None else beginning(holder)
    new = tuple(
        replace(each, holder=holder, holder_began=began) for each in settings if (each.file, each.value) not in known
    )
    try:
        _keep((*before, *new), top)
        for each in new:
            _write(top / each.file, each.value)
    except NotPermittedError:
        with suppress(OSError, NotPermittedError):
            restore(top, new)
        raise
    return new


def restore(root: Path | None = None, own: Collection[HeldSetting] | None = None) -> tuple[HeldSetting, ...]:
    """Restore the held settings that ``hold`` returned [default: all], last first.

    Those that somebody else changed meanwhile, removed or holds stay as they are.

    Raises:
        NotPermittedError: if a setting cannot be restored; its previous value stays on record.
    """
    top = root or system_root()
    known = _kept(top).settings
    rest = tuple(each for each in known if own is not None and each not in own)
    restored = []
    for each in reversed([each for each in known if each not in rest]):
        if _read(top / each.file) != each.value:
            continue
        _write(top / each.file, each.before)
        restored.append(each)
    if rest:
        _keep(rest, top)
    else:
        (top / _KEPT).unlink(missing_ok=True)
    return tuple(restored)


def restore_abandoned(root: Path | None = None) -> tuple[HeldSetting, ...]:
    """Restore the settings of holders that ended without restoring them; others stay held."""
    ended = [each for each in _kept(root or system_root()).settings if each.holder is not None and not _lives(each)]
    return restore(root, ended) if ended else ()


def refuse_holder(root: Path | None = None) -> None:
    """Raise an error if a process that holds settings still runs.

    Raises:
        InputError: with its id.
    """
    _refuse([each for each in _kept(root or system_root()).settings if _lives(each)])


def _lives(setting: HeldSetting) -> bool:
    if setting.holder is None:
        return False
    began = beginning(setting.holder)
    return began is not None and setting.holder_began in {None, began}


def _refuse(held: Sequence[HeldSetting]) -> None:
    if held:
        message = f"process {held[0].holder} holds the settings of this machine"
        raise InputError(message, fix="wait until it has ended")


def _write(file: Path, value: str) -> None:
    try:
        file.write_text(value)
    except OSError as error:
        fix = "run it as root, outside of a container"
        raise NotPermittedError(f"{file} cannot be written: {error.strerror}", fix=fix) from error


def _keep(settings: tuple[HeldSetting, ...], top: Path) -> None:
    file = top / _KEPT
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, [msgspec.json.encode(HeldSettings(settings))])
    except OSError as error:
        fix = "run it as root, outside of a container"
        raise NotPermittedError(f"{file} cannot be written: {error.strerror}", fix=fix) from error


def _kept(top: Path) -> HeldSettings:
    """The settings held now.

    Raises:
        InputError: if their file is damaged.
    """
    file = top / _KEPT
    try:
        return decode(file.read_bytes(), HeldSettings)
    except FileNotFoundError:
        return HeldSettings()
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(
            f"{file} cannot be read: {error}", fix="restart the machine, which resets its settings"
        ) from error


def _read(file: Path) -> str:
    with suppress(OSError):
        return file.read_text().strip()
    return ""


_SLICE = "proc/sys/kernel/sched_rr_timeslice_ms"
_LINK = "hati-probe"
_ADDRESSES = ("10.213.77.1", "10.213.77.2")


def restore_settings() -> None:
    """Restore the settings that a killed self-test changed."""
    restore_abandoned()
    if shutil.which("ip"):
        _command("ip", "netns", "delete", _LINK)


@contextmanager
def round_robin_slice_of(milliseconds: int, root: Path | None = None) -> Iterator[None]:
    """Set the slice of SCHED_RR for all processes; it is restored in the end, or at the next start after a kill.

    Raises:
        NotPermittedError: if it cannot be set.
    """
    with _changed(_SLICE, str(milliseconds), "run it as root", root):
        yield


@contextmanager
def reserve_of(milliseconds: int, cpu: int, root: Path | None = None) -> Iterator[None]:
    """Set what the kernel reserves for normal processes on a CPU; it is restored in the end, or at the next start.

    Raises:
        NotPermittedError: if it cannot be set.
    """
    file = f"sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"
    fix = "run it as root, with Linux 6.12 or newer, debugfs mounted and no lockdown"
    with _changed(file, str(milliseconds * 1_000_000), fix, root):
        yield


@contextmanager
def _changed(file: str, value: str, fix: str, root: Path | None) -> Iterator[None]:
    before = _read((root or system_root()) / file)
    if not before:
        raise NotPermittedError(f"/{file} cannot be read", fix=fix)
    try:
        held = hold((HeldSetting(file, before, value),), os.getpid(), root)
    except InputError as error:
        raise NotPermittedError(error.message, fix=error.fix) from error
    try:
        yield
    finally:
        restore(root, held)


@contextmanager
def link_with(*discipline: str) -> Iterator[tuple[str, str]]:
    """A pair of interfaces, one in a network namespace, both with a queueing discipline of `tc`.

    It yields the address of the end in the namespace, and the namespace's path.

    Raises:
        NotPermittedError: if the kernel has no such discipline, or does not permit a namespace.
    """
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            raise NotPermittedError(f"there is no program `{program}`", fix="apt install iproute2")
    near, far = f"hp{os.getpid() % 100000}a", f"hp{os.getpid() % 100000}b"
    inside = ("ip", "netns", "exec", _LINK)
    try:
        _needed("ip", "netns", "add", _LINK)
        _needed("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", _LINK)
        for prefix, name, address in (((), near, _ADDRESSES[0]), (inside, far, _ADDRESSES[1])):
            _needed(*prefix, "ip", "address", "add", f"{address}/30", "dev", name)
            _needed(*prefix, "ip", "link", "set", name, "up")
            _needed(*prefix, "tc", "qdisc", "add", "dev", name, "root", *discipline)
        yield _ADDRESSES[1], f"/run/netns/{_LINK}"
    finally:
        _command("ip", "link", "delete", near)
        _command("ip", "netns", "delete", _LINK)


def cache_size(level: int) -> int | None:
    """Bytes of the data cache of a level, as the kernel shows them; None if it shows none."""
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        with suppress(OSError, ValueError):
            kind, shown = (folder / "type").read_text().strip(), (folder / "size").read_text()
            match = re.fullmatch(r"(\d+)([KM]?)", shown.strip())
            if int((folder / "level").read_text()) == level and kind in {"Data", "Unified"} and match:
                return int(match[1]) * {"": 1, "K": 2**10, "M": 2**20}[match[2]]
    return None


def _needed(*words: str) -> None:
    done = _command(*words)
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise NotPermittedError(f"`{' '.join(words[-8:])}`: {said}", fix="use a kernel with that module, as root")


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=30.0)
