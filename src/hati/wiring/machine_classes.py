"""Campaigns whose repetitions are spread over classes of machines."""

from __future__ import annotations

from collections import Counter

from hati.core import InputError, replace
from hati.core.wording import listed
from hati.wiring.machine_options import clients
from hati.wiring.workplace import Workplace

ALL = "all"
"""All known classes of machines."""


def over_classes(place: Workplace, wanted: str) -> Workplace:
    """The workplace whose repetitions are spread over ``wanted`` classes of machines: a number, or ``ALL``.

    These are the classes with the most known machines, and among equals the first by name.

    Raises:
        InputError: where these are no classes, too few are known, or this machine alone measures.
    """
    if not place.by_workers:
        raise InputError("--classes is for campaigns that share workers", fix="add --engine workers, or leave it out")
    if wanted != ALL and not (wanted.isdecimal() and int(wanted)):
        raise InputError(f"--classes {wanted!r} is not a number of classes", fix=f"write 1 or more, or `{ALL}`")
    found = Counter(client.hardware for client in clients(place))
    number = len(found) if wanted == ALL else int(wanted)
    if number > len(found):
        raise InputError(
            f"{number} classes of machines are wanted, and {len(found)} known: {listed(sorted(found), separator='; ')}",
            fix=f"start workers on others, or write --classes {len(found)}",
        )
    ordered = sorted(found, key=lambda each: (-found[each], each))
    return replace(place, classes=tuple(sorted(ordered[:number])))
