"""Metrics of a run, their units and dimensions, durations, and conversion."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

from msgspec import Struct

from hati.core.errors import InputError

SINGLE_CALLS: Final = "single_calls"
"""The metric that is 1 where each observation of a run's times is one call, and 0 where it is a mean of several."""


class Better(StrEnum):
    """Which direction of a metric is the good one."""

    LOWER = "lower"
    HIGHER = "higher"


class Metric(Struct, frozen=True):
    """A metric: its name, unit and good direction."""

    name: str
    unit: str
    better: Better = Better.LOWER

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("a metric has an empty name", fix="name it, for instance 'latency'")


_KNOWN = {
    "": ("1", 1.0),
    "1": ("1", 1.0),
    "%": ("1", 0.01),
    "count": ("1", 1.0),
    "ns": ("time", 1e-9),
    "us": ("time", 1e-6),
    "µs": ("time", 1e-6),
    "μs": ("time", 1e-6),
    "ms": ("time", 1e-3),
    "s": ("time", 1.0),
    "min": ("time", 60.0),
    "h": ("time", 3600.0),
    "B": ("memory", 1.0),
    "kB": ("memory", 1e3),
    "MB": ("memory", 1e6),
    "GB": ("memory", 1e9),
    "KiB": ("memory", 1024.0),
    "MiB": ("memory", 1024.0**2),
    "GiB": ("memory", 1024.0**3),
    "Hz": ("1/time", 1.0),
    "J": ("energy", 1.0),
    "mJ": ("energy", 1e-3),
    "kJ": ("energy", 1e3),
    "W": ("power", 1.0),
    "mW": ("power", 1e-3),
    "kW": ("power", 1e3),
}

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)")
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class Unit(Struct, frozen=True):
    """A unit: ``symbol`` as written, ``dimension``, and ``scale`` to the dimension's own unit."""

    symbol: str
    dimension: str
    scale: float


def parse_unit(symbol: str) -> Unit:
    """Read a unit such as ``ms``, ``MiB``, ``1/s`` or ``MB/s``.

    A symbol that is not known (``page``, ``frame``) is a dimension of its own.
    """
    symbol = symbol.strip()
    if symbol in _KNOWN:
        return Unit(symbol, *_KNOWN[symbol])
    if "/" not in symbol:
        return Unit(symbol, symbol, 1.0)
    above, _, below = symbol.rpartition("/")
    top, bottom = parse_unit(above), parse_unit(below)
    return Unit(symbol, f"{top.dimension}/{bottom.dimension}", top.scale / bottom.scale)


def is_unit(symbol: str) -> bool:
    """Whether a symbol is a unit of a known dimension.

    >>> is_unit("ms"), is_unit("page")
    (True, False)
    """
    return symbol in _KNOWN


_SPELLINGS = {
    "s": "sec secs second seconds",
    "ms": "msec msecs millis millisec millisecs millisecond milliseconds",
    "us": "usec usecs micros microsec microsecs microsecond microseconds",
    "ns": "nsec nsecs nanos nanosec nanosecs nanosecond nanoseconds",
    "min": "mins minute minutes",
    "h": "hr hrs hour hours",
    "B": "byte bytes",
    "kB": "kb kbyte kbytes kilobyte kilobytes",
    "MB": "mb mbyte mbytes megabyte megabytes",
    "GB": "gb gbyte gbytes gigabyte gigabytes",
    "KiB": "kib",
    "MiB": "mib",
    "GiB": "gib",
    "Hz": "hertz",
    "J": "joule joules",
    "W": "watt watts",
    "%": "percent",
}
"""Other spellings of units, in lower case."""
_BY_SPELLING = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings.split()}


def respelled(symbol: str) -> str | None:
    """The unit with known symbols in place of other spellings; None if it has none of these.

    >>> respelled("msec"), respelled("requests/sec"), respelled("frames/s")
    ('ms', 'requests/s', None)
    """
    parts = [part if part in _KNOWN else _BY_SPELLING.get(part.lower(), part) for part in symbol.strip().split("/")]
    found = "/".join(parts)
    return found if found != symbol.strip() else None


@lru_cache(maxsize=256)
def conversion(source: str, target: str) -> float:
    """The factor that turns values in ``source`` into values in ``target``.

    Raises:
        InputError: where the two are of different dimension.

    >>> conversion("ms", "s")
    0.001
    """
    old, new = parse_unit(source), parse_unit(target)
    if old.symbol == new.symbol:
        return 1.0
    if old.dimension != new.dimension:
        raise InputError(
            f"unit {source!r} cannot be converted to {target!r}: one is {old.dimension}, the other {new.dimension}"
        )
    return old.scale / new.scale


def parse_duration(text: str) -> float:
    """Seconds of a duration such as ``500ms``, ``30s``, ``2m`` or ``1.5h``.

    Raises:
        InputError: for a text that is not a valid duration, or is not above zero.
    """
    match = _DURATION.fullmatch(text.strip())
    if not match or float(match[1]) <= 0:
        raise InputError(
            f"{text!r} is not a valid duration", fix="write a number above zero and ms, s, m or h, such as '30s'"
        )
    return float(match[1]) * _SECONDS[match[2]]
