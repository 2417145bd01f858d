"""Members that several formats have: settings, moments, observations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from hati.core import FloatArray, InputError, Metric, Observations, Setting
from hati.subject.samples.node import Node

_Read = TypeVar("_Read")


def optional(node: Node, key: str, read: Callable[[Node], _Read]) -> _Read | None:
    """The member of that name, read; None where there is none, or it is null."""
    found = node.get(key)
    return None if found is None else read(found)


def optional_text(node: Node, key: str) -> str:
    """The text of that name, which may be missing or empty."""
    found = node.get(key)
    if found is None or found.value == "":
        return ""
    return found.text()


def settings(node: Node | None) -> dict[str, Setting]:
    """The members of an object of settings; none where it is missing or null.

    Raises:
        InputError: where one is no setting.
    """
    return {} if node is None else {name: setting(member) for name, member in node.members()}


def setting(node: Node) -> Setting:
    """A boolean, a number or text."""
    if isinstance(node.value, bool | int | float | str):
        return node.value
    raise node.error("this is not a valid setting", fix="use a boolean, a number or text")


def moment(node: Node) -> datetime:
    """A moment as ISO 8601 has it; UTC where it has no time zone.

    Raises:
        InputError: where it is none.
    """
    try:
        found = datetime.fromisoformat(node.text())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise node.error(f"{node.text()!r} is not a time", fix="write it as 2026-11-20T10:00:00Z") from None


def observed(node: Node, metric: Metric, warmup: int = 0) -> Observations:
    """A list of numbers as observations.

    Raises:
        InputError: where it is empty, or of other things, or nothing is left after warm-up.
    """
    return observations(node.numbers(), metric, node.error, warmup)


def observations(
    values: FloatArray, metric: Metric, complain: Callable[[str], InputError], warmup: int = 0
) -> Observations:
    """Values, shape (n,), as observations; what is wrong with them is told with a place."""
    try:
        return Observations(metric.name, metric.unit, values, warmup)
    except InputError as error:
        raise complain(error.message) from None
