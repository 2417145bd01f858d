"""Which names attributes may have."""

from __future__ import annotations

FIRST = frozenset("_:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
FURTHER = FIRST | frozenset("-.0123456789")


def check_attribute_name(text: str) -> bool:
    """Whether it begins with a letter and goes on with letters, digits, dots and hyphens."""
    if not text or text[0] not in FIRST:
        return False
    for character in text:  # noqa: SIM110  # all() takes longer
        if character not in FURTHER:
            return False
    return True


def check_all(texts: list[str]) -> int:
    """How many of them are names."""
    return sum(check_attribute_name(text) for text in texts)
