"""Observations as compressed bytes, texts as what every database can hold; and back, bit by bit the same."""

from __future__ import annotations

import re
import zlib

import numpy as np

from hati.core import FloatArray

_PLAIN = b"\x00"
_SHUFFLED_ZLIB = b"\x01"
_LEVEL = 1
_FEW = 16
"""So few values are not worth compressing."""
_MARK = "\ue000"
_MARKED = re.compile(f"{_MARK}[{_MARK}0]")


def encode(values: FloatArray) -> bytes:
    """Compress values of shape (n,).

    The bytes of little-endian doubles are grouped by significance first: exponents repeat, mantissas don't.
    """
    if values.size < _FEW:
        return _PLAIN + values.astype("<f8").tobytes()
    shuffled = np.ascontiguousarray(values, dtype="<f8").view(np.uint8).reshape(-1, 8).T.tobytes()
    return _SHUFFLED_ZLIB + zlib.compress(shuffled, _LEVEL)


def decode(data: bytes) -> FloatArray:
    """The values of shape (n,) that ``encode`` was given.

    Raises:
        ValueError: where the bytes are none of ``encode``'s.
    """
    try:
        if data[:1] == _PLAIN:
            return np.frombuffer(data[1:], dtype="<f8").astype(np.float64)
        if data[:1] != _SHUFFLED_ZLIB:
            raise ValueError("unknown codec")
        raw = np.frombuffer(zlib.decompress(data[1:]), dtype=np.uint8)
        values: FloatArray = np.ascontiguousarray(raw.reshape(8, -1).T).view("<f8").ravel().astype(np.float64)
    except (TypeError, zlib.error) as error:
        raise ValueError(f"the observations cannot be read: {error}") from error
    return values


def encode_text(text: str) -> str:
    """A text without the character U+0000, which programs may print and PostgreSQL cannot hold."""
    return text.replace(_MARK, 2 * _MARK).replace("\0", f"{_MARK}0") if "\0" in text or _MARK in text else text


def decode_text(text: str) -> str:
    """The text that ``encode_text`` was given."""
    return _MARKED.sub(lambda found: "\0" if found[0][1] == "0" else _MARK, text) if _MARK in text else text
