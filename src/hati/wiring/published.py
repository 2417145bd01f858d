"""The published JSON types by the names of their formats: Hati's own, and those of other packages' studies."""

from __future__ import annotations

from msgspec import Struct

from hati import report
from hati.core import InputError
from hati.core.wording import suggestion
from hati.steering import LedgerStatus
from hati.wiring.study_types import format_of, other_types


def published_types() -> dict[str, type[Struct]]:
    """The types by their formats, such as ``hati-screen-1``."""
    own = (getattr(report, name) for name in dir(report))
    others = (kind.published for kind in other_types()[0])
    return {format_: each for each in (*own, LedgerStatus, *others) if (format_ := format_of(each))}


def published_type(name: str) -> type[Struct]:
    """The type of the format or study with this name.

    Raises:
        InputError: where there is none.
    """
    formats = published_types()
    studies = {format_.removeprefix("hati-").removesuffix("-1"): each for format_, each in formats.items()}
    studies |= {kind.name: kind.published for kind in other_types()[0] if kind.published}
    found = formats.get(name) or studies.get(name)
    if found is None:
        raise InputError(f"there is no format or study {name!r}", fix=suggestion(name, studies))
    return found
