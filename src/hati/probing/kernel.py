"""The program with the kernels, and what Linux gives it: control groups, quotas, and settings that change times."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import platformdirs

from hati.core import FloatArray, MeasurementError, digest
from hati.driver import compile_program, compiler
from hati.file_errors import write_error
from hati.generate import with_kernels
from hati.probing.bounded import OutputLimitError, run_bounded
from hati.probing.conditions import mount_point, stolen_ticks, system_root

_MOST = 2**29
_SOURCE = Path(__file__).with_name("kernels.c")
_REFUSED = {
    "sched_setscheduler: Operation not permitted": (
        "the kernel permits no real-time priority here",
        "run it as root, or permit it: `ulimit -r 1`, or `setcap cap_sys_nice=ep` for the program",
    ),
}
Series = dict[str, FloatArray]
"""Arrays by name; those that a kernel prints several times are numbered: ``NAME/0``, ``NAME/1`` ..."""


class NotPermittedError(MeasurementError):
    """An operation that this machine or its kernel does not permit."""


class KernelProgram:
    """The compiled program of the kernels, at ``path``.

    ``flags`` are further ones of the compiler.

    Raises:
        MeasurementError: if it cannot be compiled here.
    """

    def __init__(self, folder: Path | None = None, flags: tuple[str, ...] = ()) -> None:
        self.path = _compiled(folder or platformdirs.user_cache_path("hati") / "probe", flags)

    @classmethod
    def at(cls, path: Path) -> KernelProgram:
        """The program that was compiled before and is at a path, such as in a container."""
        found = cls.__new__(cls)
        found.path = path
        return found

    def run(self, *arguments: object, timeout: float = 120.0, prefix: Sequence[str] = ()) -> Series:
        """Run a kernel, and return the arrays that it writes, in the units in their names.

        Raises:
            NotPermittedError: if the operating system does not permit it.
            MeasurementError: if it fails, or takes longer than ``timeout`` seconds.
        """
        command = [*prefix, str(self.path), *map(str, arguments)]
        try:
            done = run_bounded(command, "", timeout, _MOST)
        except subprocess.TimeoutExpired:
            raise MeasurementError(
                f"the kernel {arguments[0]} takes longer than {timeout:g} s", fix="repeat it when the machine is quiet"
            ) from None
        except OutputLimitError as error:
            raise MeasurementError(f"the kernel {arguments[0]} {error.message}") from None
        if done.returncode:
            said = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
            if said in _REFUSED:
                raise NotPermittedError(_REFUSED[said][0], fix=_REFUSED[said][1])
            raise MeasurementError(f"the kernel {arguments[0]} ends early: {said}")
        try:
            return _numbered(done.stdout)
        except ValueError:
            raise MeasurementError(f"the kernel {arguments[0]} prints what it does not measure") from None


def _numbered(text: str) -> Series:
    """The arrays of a kernel's lines; those without a value are left out."""
    lines = list(_lines(text))
    names = [name for name, _ in lines]
    counts: dict[str, int] = {}
    found: Series = {}
    for name, values in lines:
        number = counts[name] = counts.get(name, -1) + 1
        if values.size:
            found[name if names.count(name) == 1 else f"{name}/{number}"] = values
    return found


def _lines(text: str) -> Iterator[tuple[str, FloatArray]]:
    for line in text.splitlines():
        name, _, values = line.partition(":")
        yield name, np.array(values.split(), dtype=np.float64)


def _compiled(folder: Path, flags: tuple[str, ...]) -> Path:
    source = with_kernels(_SOURCE.read_text(encoding="utf-8"))
    path = folder / digest([source, compiler(), *flags])
    if path.exists():
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as own:
            compile_program(source, Path(own), flags).replace(path)
    except OSError as error:
        raise write_error(folder, error, "set XDG_CACHE_HOME to another folder") from error
    return path


_PREFIX = "hati-probe-"
_NO_GROUP = "the kernel lets this process make no control group with the controller cpu"
_FIX = "run it as root, outside of a container"


def throttled_seconds(group: Path | None) -> float | None:
    """Seconds for which the kernel has throttled the group; None if it does not report them."""
    if group is None:
        return None
    with suppress(OSError, ValueError):
        fields = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
        if "throttled_usec" in fields:
            return int(fields["throttled_usec"]) / 1e6
        return int(fields["throttled_time"]) / 1e9
    return None


@contextmanager
def group_with(quota_ms: float | None, period_ms: float = 100.0) -> Iterator[Path]:
    """A new control group with the highest weight and a quota; it is removed in the end.

    Raises:
        NotPermittedError: if the kernel does not permit one.
    """
    parent, old = _parent()
    folder = parent / f"{_PREFIX}{os.getpid()}"
    try:
        remove_groups(parent)
        folder.mkdir()
    except OSError as error:
        raise NotPermittedError(f"{_NO_GROUP} ({error.strerror})", fix=_FIX) from error
    try:
        _set(folder, quota_ms, period_ms, old=old)
        yield folder
    except OSError as error:
        raise NotPermittedError(f"{error.filename}: {error.strerror}", fix=_FIX) from error
    finally:
        with suppress(OSError):
            folder.rmdir()


def entering(group: Path) -> tuple[str, ...]:
    """A command that starts another one in a group."""
    return ("sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh")


def remove_groups(parent: Path) -> None:
    """Remove the groups that killed processes left there."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            folder.rmdir()


def _set(folder: Path, quota_ms: float | None, period_ms: float, *, old: bool) -> None:
    period = int(period_ms * 1000)
    if old:
        (folder / "cpu.shares").write_text("262144")
        (folder / "cpu.cfs_period_us").write_text(str(period))
        (folder / "cpu.cfs_quota_us").write_text("-1" if quota_ms is None else str(int(quota_ms * 1000)))
    else:
        (folder / "cpu.weight").write_text("10000")
        (folder / "cpu.max").write_text(f"{'max' if quota_ms is None else int(quota_ms * 1000)} {period}")


def _parent() -> tuple[Path, bool]:
    """The folder in which a group can be created, and whether groups are of version 1.

    Raises:
        NotPermittedError: if there is none.
    """
    first = mount_point("cpu")
    if first is not None:
        return first, True
    second = mount_point("")
    if second is None or "cpu" not in (second / "cgroup.controllers").read_text().split():
        raise NotPermittedError(_NO_GROUP, fix=_FIX)
    with suppress(OSError):
        (second / "cgroup.subtree_control").write_text("+cpu")
    return second, False


EEVDF_SLICE_MS = 4.0
"""The effective timeslice of EEVDF with 250 ticks a second: Linux's own is at most 3 ms, and a slice ends at a tick."""
_EEVDF = (6, 6)
_FEATURES = Path("/sys/kernel/debug/sched/features")


def validate_slice() -> None:
    """Check that the effective timeslice is ``EEVDF_SLICE_MS``, by the configuration of the kernel.

    Raises:
        NotPermittedError: where it is another one, or the configuration cannot be read.
    """
    release = os.uname().release
    version = tuple(int(word) for word in re.findall(r"\d+", release)[:2])
    if version < _EEVDF:
        raise NotPermittedError(f"Linux {release} schedules by CFS", fix="use Linux 6.6 or newer, with EEVDF")
    with suppress(OSError):
        if "HRTICK" in _FEATURES.read_text().split():
            raise NotPermittedError("the scheduler uses HRTICK", fix=f"echo NO_HRTICK > {_FEATURES}")
    for file in (Path("/proc/config.gz"), Path(f"/boot/config-{release}")):
        with suppress(OSError):
            data = file.read_bytes()
            text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode()
            if "\nCONFIG_HZ=250\n" not in text:
                raise NotPermittedError(
                    "the kernel has another tick than 250 a second", fix="use one with CONFIG_HZ=250"
                )
            return
    raise NotPermittedError("the configuration of the kernel cannot be read", fix="use one with CONFIG_IKCONFIG_PROC")


_SCHED = Path("/proc/self/sched")


def requested_slice_ns(file: Path = _SCHED) -> float | None:
    """The timeslice of this process that the scheduler aims at; None if the kernel does not show it."""
    with suppress(OSError):
        found = re.search(r"^se\.slice\s*:\s*(\d+)$", file.read_text(), re.MULTILINE)
        return float(found[1]) if found else None
    return None


def disk_bytes(folder: Path, devices: Path = Path("/sys/dev/block")) -> float | None:
    """The bytes that the disk of a folder has read and written since the start; None if no disk is known, as in memory.

    Those of all its partitions count.
    """
    number = folder.stat().st_dev
    with suppress(OSError, ValueError, IndexError):
        device = (devices / f"{os.major(number)}:{os.minor(number)}").resolve()
        whole = device.parent if (device / "partition").exists() else device
        fields = (whole / "stat").read_text().split()
        return 512.0 * (int(fields[2]) + int(fields[6]))
    return None


_CPUS = Path("/sys/devices/system/cpu")


def listed_siblings(cpus: Sequence[int], root: Path | None = None) -> dict[int, frozenset[int]] | None:
    """The CPUs of the core of each CPU, as the kernel lists them; None if it does not list them for all."""
    folder = (root or system_root()) / str(_CPUS).lstrip("/")
    with suppress(OSError, ValueError):
        return {cpu: _cpu_list((folder / f"cpu{cpu}/topology/thread_siblings_list").read_text()) for cpu in cpus}
    return None


def _cpu_list(text: str) -> frozenset[int]:
    """The numbers of a list such as ``0-1,4``."""
    ranges = (part.partition("-") for part in text.strip().split(","))
    return frozenset(cpu for low, _, high in ranges for cpu in range(int(low), int(high or low) + 1))


def validate_hypervisor(root: Path | None = None) -> None:
    """Check that a hypervisor may take CPU time from this machine.

    A processor that lists its features as ``flags`` has one named ``hypervisor`` in a virtual machine; others do not
    say it.

    Raises:
        NotPermittedError: where there is none: the flag is missing, and no stolen time was ever counted.
    """
    top, flags = root or system_root(), ""
    with suppress(OSError):
        flags = "".join(re.findall(r"^flags\s*:(.*)$", (top / "proc/cpuinfo").read_text(), re.MULTILINE)[:1])
    if flags and "hypervisor" not in flags.split() and not stolen_ticks(top):
        raise NotPermittedError(
            "no hypervisor runs this machine, which could take CPU time: its processor has no flag `hypervisor`, and "
            "/proc/stat counts no stolen time since the start",
            fix="measure it in the virtual machine",
        )
