"""Numbers formatted for people: significant digits, thousands separators, tidied units.

Nothing here is for programs: values for further computation or exchange stay unrounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from hati.core import parse_unit

DIGITS = 4

_PREFIXES = {
    "time": ("ns", "µs", "ms", "s"),
    "memory": ("B", "kB", "MB", "GB"),
    "energy": ("mJ", "J", "kJ"),
    "power": ("mW", "W", "kW"),
}
_BINARY = ("B", "KiB", "MiB", "GiB")
_NO_UNIT = ("", "1")
_PLAIN = (1e-4, 1e9)
_ABOUT_ONE = 0.9995
"""What rounds to 1 in four digits counts as 1, so that 999.96 µs reads 1 ms and not 1,000 µs."""


class Tidy(NamedTuple):
    """A unit to show values in: a value times ``factor`` is in ``unit``."""

    unit: str
    factor: float


def tidy(unit: str, values: Iterable[float]) -> Tidy:
    """The unit with the prefix in which the largest of the values is a number from 1 to 1000.

    Only the part before ``/`` changes. Units without a known family (``page``) stay as they are;
    ``1`` and the empty unit are not shown.

    >>> tidy("s", [0.0017]).unit
    'ms'
    """
    above, slash, below = unit.strip().partition("/")
    if above in _NO_UNIT:
        return Tidy(slash and f"1/{below}", 1.0)
    known = parse_unit(above)
    symbols = _BINARY if above in _BINARY[1:] else _PREFIXES.get(known.dimension, ())
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if not symbols or largest == 0.0:
        return Tidy(above + slash + below, 1.0)
    scales = [(symbol, parse_unit(symbol).scale) for symbol in symbols]
    fitting = [(symbol, scale) for symbol, scale in scales if largest * known.scale >= scale * _ABOUT_ONE]
    symbol, scale = fitting[-1] if fitting else scales[0]
    return Tidy(symbol + slash + below, known.scale / scale)


def decimals(values: Iterable[float], digits: int = DIGITS) -> int:
    """The decimal places that show the largest of the values with that many significant digits."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest == 0.0:
        return 0
    return min(12, max(0, digits - 1 - math.floor(math.log10(largest))))


def fixed(value: float, places: int) -> str:
    """The value with that many decimal places and thousands separators; never ``-0``."""
    if not math.isfinite(value):
        return "?"
    text = f"{value:,.{places}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text


def general(value: float, digits: int = DIGITS) -> str:
    """The value with that many significant digits and thousands separators; with an exponent if it is tiny or huge.

    Whole digits are never dropped: 16,384 stays 16,384.

    >>> general(0.0017184), general(16384.0), general(1.5)
    ('0.001718', '16,384', '1.5')
    """
    if not math.isfinite(value):
        return "?"
    if value != 0 and not _PLAIN[0] <= abs(value) < _PLAIN[1]:
        return f"{value:.{digits - 1}e}"
    text = fixed(value, decimals([value], digits))
    return text.rstrip("0").rstrip(".") if "." in text else text


def quantity(value: float, unit: str, digits: int = DIGITS) -> str:
    """The value with its unit tidied.

    >>> quantity(0.0017184, "s"), quantity(5120.0, "1/s")
    ('1.718 ms', '5,120 1/s')
    """
    scale = tidy(unit, [value])
    number = general(value * scale.factor, digits)
    return f"{number} {scale.unit}" if scale.unit else number


def percent(fraction: float, digits: int = 3) -> str:
    """A fraction as a percentage without a sign, such as ``1.9 %``."""
    return f"{general(100 * fraction, digits)} %"


def change(fraction: float) -> str:
    """A relative change with its sign and one decimal place; in whole percents from a tenfold change on.

    >>> change(0.1243), change(-0.5), change(12.5)
    ('+12.4 %', '-50.0 %', '+1,250 %')
    """
    return f"{change_number(fraction)} %"


def change_number(fraction: float) -> str:
    """The number of `change`, in percent; with an exponent from a million percent on.

    >>> change_number(2.0125e7)
    '+2.0e+09'
    """
    if math.isfinite(fraction) and abs(fraction) >= _HUGE:
        return f"{100 * fraction:+.1e}"
    text = fixed(100 * fraction, 1 if abs(fraction) < _TENFOLD else 0)
    return f"+{text}" if fraction > 0 and text.strip("0.,?") else text


_TENFOLD, _HUGE = 9.9995, 1e4


def duration(seconds: float) -> str:
    """A duration in the units that people use.

    >>> duration(0.0123), duration(75.2), duration(7260.0)
    ('12.3 ms', '1 min 15 s', '2 h 1 min')
    """
    if not math.isfinite(seconds):
        return "?"
    if seconds < 59.95:
        return quantity(seconds, "s", 3)
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def roman(number: int) -> str:
    """A resolution as a Roman numeral."""
    ones = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
    return "X" * (number // 10) + ones[number % 10]
