"""What a machine's owner permits: hours, memory, CPU time, disk space, processes and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Optional

from .files import BAD_INPUT, JoinError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|)")
_SECONDS = {"ms": 1e-3, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_HOURS = re.compile(r"(\d{1,2})(?::(\d\d))?-(\d{1,2})(?::(\d\d))?")


@dataclass(frozen=True)
class Hours:
    """A time of day in which work may begin, from ``start`` to ``end`` in minutes; it may include midnight.

    Raises:
        JoinError: where a time does not exist, or both are equal.
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if not (0 <= self.start <= 1440 and 0 <= self.end <= 1440) or self.start % 1440 == self.end % 1440:
            raise JoinError(f"`{self}` are not hours of a day", "write them as 22-6 or 9:30-17", BAD_INPUT)

    def __str__(self) -> str:
        return "-".join(f"{each // 60}" + (f":{each % 60:02}" if each % 60 else "") for each in (self.start, self.end))

    @classmethod
    def parse(cls, text: str) -> Hours:
        """Read hours.

        Raises:
            JoinError: where the text is not such.

        >>> Hours.parse("22-6")
        Hours(start=1320, end=360)
        """
        found = _HOURS.fullmatch(text.strip())
        if not found or int(found[2] or 0) > 59 or int(found[4] or 0) > 59:
            raise JoinError(f"`{text}` are not hours of a day", "write them as 22-6 or 9:30-17", BAD_INPUT)
        return cls(int(found[1]) * 60 + int(found[2] or 0), int(found[3]) * 60 + int(found[4] or 0))

    def wait(self, now: datetime) -> float:
        """The time until work may begin, in seconds; 0 within the hours."""
        minute = now.hour * 60 + now.minute
        start, end = self.start % 1440, self.end % 1440
        within = start <= minute < end if start < end else minute >= start or minute < end
        if within:
            return 0.0
        begin = now.replace(hour=start // 60, minute=start % 60, second=0, microsecond=0)
        return ((begin if begin > now else begin + timedelta(days=1)) - now).total_seconds()


@dataclass(frozen=True)
class Limits:
    """Limits for each run and each build: bytes of memory and of files, seconds of CPU time, number of processes.

    ``memory`` is that of all its processes together; ``cpu`` is that of each process, None for no limit.
    """

    memory: int = 2 * 2**30
    disk: int = 2**30
    processes: int = 256
    cpu: Optional[float] = None

    def __post_init__(self) -> None:
        for name in ("memory", "disk"):
            if getattr(self, name) < 2**20:
                raise JoinError(f"`--{name}` is less than 1 MiB", "write a size such as 2G", BAD_INPUT)
        if self.processes < 1 or (self.cpu is not None and self.cpu < 1):
            raise JoinError(
                "a limit is less than 1", "permit at least one process, and a second of CPU time", BAD_INPUT
            )


@dataclass(frozen=True)
class OwnerTemplate:
    """What the owner permits; ``settings`` maps options to the only settings that run here."""

    limits: Limits = field(default_factory=Limits)
    hours: Optional[Hours] = None
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """The template as it is sent to the server; what is not limited is left out."""
        about: dict[str, Any] = {name: getattr(self.limits, name) for name in ("memory", "disk", "processes")}
        if self.limits.cpu is not None:
            about["cpu"] = self.limits.cpu
        if self.hours is not None:
            about["hours"] = str(self.hours)
        if self.settings:
            about["settings"] = {option: list(texts) for option, texts in self.settings.items()}
        return about

    def excluded(self, settings: Mapping[str, str]) -> str:
        """The first setting that the owner excludes, in words; empty where there is none."""
        for option, permitted in self.settings.items():
            if option in settings and settings[option] not in permitted:
                return f"the machine's owner permits {option} = {' or '.join(permitted)} only"
        return ""


def parse_size(text: str) -> int:
    """A size in bytes from a text.

    Raises:
        JoinError: where it is not one.

    >>> parse_size("1.5G")
    1610612736
    """
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise JoinError(f"`{text}` is not a size", "write it as 500M or 2G", BAD_INPUT)
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


def parse_time(text: str) -> float:
    """A time in seconds from a text such as ``90`` or ``10m``.

    Raises:
        JoinError: where it is not one.

    >>> parse_time("1.5h")
    5400.0
    """
    found = _DURATION.fullmatch(text.strip())
    if not found:
        raise JoinError(f"`{text}` is not a time", "write it as 90s, 10m or 2h", BAD_INPUT)
    return float(found[1]) * _SECONDS[found[2]]


def parse_settings(flag: str, texts: list[str]) -> dict[str, tuple[str, ...]]:
    """Settings from texts of a flag such as ``option=a,b``.

    Raises:
        JoinError: where a text names no option or no setting.

    >>> parse_settings("--only", ["level=1,2"])
    {'level': ('1', '2')}
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        option, _, settings = text.partition("=")
        values = tuple(part.strip() for part in settings.split(",") if part.strip())
        if not option.strip() or not values:
            raise JoinError(f"`{flag} {text}` names no option with settings", "write OPTION=SETTING,SETTING", BAD_INPUT)
        found[option.strip()] = values
    return found
