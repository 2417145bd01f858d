"""Which names attributes may have."""

from __future__ import annotations

FIRST = frozenset("_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
FURTHER = FIRST | frozenset("-.0123456789")


def check_part(text: str) -> bool:
    """Whether it begins with a letter and goes on with letters, digits, dots and hyphens."""
    if not text or text[0] not in FIRST:
        return False
    for character in text:  # noqa: SIM110  # all() takes longer
        if character not in FURTHER:
            return False
    return True


def check_attribute_name(text: str) -> bool:
    """Whether it is such a part, or two with a colon between them."""
    prefix, colon, local = text.partition(":")
    return check_part(prefix) and (not colon or check_part(local))


def check_all(texts: list[str]) -> int:
    """How many of them are names."""
    return sum(check_attribute_name(text) for text in texts)
