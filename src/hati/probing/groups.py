"""Control groups of both versions: that of this process, and groups with a quota on CPU time."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hati.probing.kernel import NotPermittedError

_PREFIX = "hati-probe-"
_NO_GROUP = "the kernel lets this process make no control group with the controller cpu"
_FIX = "run it as root, outside of a container"


def own_group() -> Path | None:
    """The folder of this process's control group for CPU time; None if there is none."""
    found = dict[str, str]()
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            found |= dict.fromkeys(controllers.split(","), path)
    for controller in ("cpu", ""):
        mount, own = _mount(controller), found.get(controller)
        if mount is not None and own is not None:
            for folder in (mount / own.lstrip("/"), mount):  # in a container the path may be that of the host
                if (folder / "cpu.stat").exists():
                    return folder
    return None


def own_quota(root: Path = Path("/")) -> tuple[str, float | None]:
    """The file with the strictest quota for this process, and its cores; None if there is no limit.

    The enclosing groups limit a group, too. Under a root other than ``/`` there is no process of this system.
    """
    group = own_group() if root == Path("/") else None
    found: list[tuple[str, float | None]] = []
    while group is not None and (group / "cpu.stat").exists():
        files = [group / name for name in ("cpu.max", "cpu.cfs_quota_us")]
        found += [(str(file), _cores_of(file)) for file in files if file.exists()]
        group = group.parent
    return min(found, key=lambda each: math.inf if each[1] is None else each[1], default=("", None))


def _cores_of(file: Path) -> float | None:
    """The cores that a file of a quota permits; None: all."""
    with suppress(OSError, ValueError):
        words = file.read_text().split()
        period = words[1] if words[1:] else file.with_name("cpu.cfs_period_us").read_text()
        return float(words[0]) / float(period) if words[0] not in {"max", "-1"} else None
    return None


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
    first = _mount("cpu")
    if first is not None:
        return first, True
    second = _mount("")
    if second is None or "cpu" not in (second / "cgroup.controllers").read_text().split():
        raise NotPermittedError(_NO_GROUP, fix=_FIX)
    with suppress(OSError):
        (second / "cgroup.subtree_control").write_text("+cpu")
    return second, False


def _mount(controller: str) -> Path | None:
    """The mount point of a version 1 controller's hierarchy, or that of version 2 if ``controller`` is empty."""
    with suppress(OSError):
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _, place, kind, options, *_ = line.split()
            if kind == "cgroup2" if not controller else kind == "cgroup" and controller in options.split(","):
                return Path(place)
    return None
