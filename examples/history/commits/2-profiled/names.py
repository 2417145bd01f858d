"""Which names attributes may have."""

from __future__ import annotations

LETTERS = frozenset("_:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
NAME_CHARS = LETTERS | frozenset("-.0123456789")


def check_attribute_name(name: str) -> bool:
    """Whether it begins with a letter and goes on with letters, digits, dots and hyphens."""
    if not name or name[0] not in LETTERS:
        return False
    for char in name:  # noqa: SIM110  # all() takes longer
        if char not in NAME_CHARS:
            return False
    return True


def check_all(names: list[str]) -> int:
    """How many of them are names."""
    return sum(check_attribute_name(name) for name in names)
