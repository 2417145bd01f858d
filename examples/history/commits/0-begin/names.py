"""Which names attributes may have."""

from __future__ import annotations

LETTERS = "_:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
OTHERS = "-.0123456789"


def is_letter(char: str) -> bool:
    return char in LETTERS


def is_name_char(char: str) -> bool:
    return is_letter(char) or char in OTHERS


def check_attribute_name(name: str) -> bool:
    """Whether it begins with a letter and goes on with letters, digits, dots and hyphens."""
    if not name or not is_letter(name[0]):
        return False
    for char in name:  # noqa: SIM110  # all() takes longer
        if not is_name_char(char):
            return False
    return True


def check_all(names: list[str]) -> int:
    """How many of them are names."""
    return sum(check_attribute_name(name) for name in names)
