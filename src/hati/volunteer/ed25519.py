"""Verify Ed25519 signatures (RFC 8032, section 5.1); nothing here is secret, so its time may depend on the values."""

from __future__ import annotations

import hashlib
from typing import Optional

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)
"""A square root of -1."""

Point = tuple[int, int, int, int]
"""Extended homogeneous coordinates (X, Y, Z, T): x = X / Z, y = Y / Z, x y = T / Z."""


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature of the message was made with the private key that belongs to a public one.

    A public key has 32 bytes, a signature 64; any other value is not valid.
    """
    if len(public) != 32 or len(signature) != 64:
        return False
    key, scalar = _point(public), int.from_bytes(signature[32:], "little")
    if key is None or scalar >= _ORDER:
        return False
    challenge = hashlib.sha512(signature[:32] + public + message).digest()
    factor = int.from_bytes(challenge, "little") % _ORDER
    negated = (_P - key[0], key[1], key[2], _P - key[3])
    return _encoded(_add(_multiplied(_BASE, scalar), _multiplied(negated, factor))) == signature[:32]


def _add(left: Point, right: Point) -> Point:
    """Section 5.1.4; also valid where both points are equal."""
    a = (left[1] - left[0]) * (right[1] - right[0]) % _P
    b = (left[1] + left[0]) * (right[1] + right[0]) % _P
    c = 2 * left[3] * right[3] * _D % _P
    d = 2 * left[2] * right[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiplied(point: Point, factor: int) -> Point:
    product: Point = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            product = _add(product, point)
        point = _add(point, point)
        factor >>= 1
    return product


def _encoded(point: Point) -> bytes:
    inverse = pow(point[2], _P - 2, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _point(data: bytes) -> Optional[Point]:
    """The point that 32 bytes encode, None where they encode none (section 5.1.3)."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= _P:
        return None
    x = _root((y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P)
    if x is None or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _root(square: int) -> Optional[int]:
    """A square root modulo p, None where there is none."""
    root = pow(square, (_P + 3) // 8, _P)
    if (root * root - square) % _P:
        root = root * _ROOT % _P
    return None if (root * root - square) % _P else root


_Y = 4 * pow(5, _P - 2, _P) % _P
_base = _point(_Y.to_bytes(32, "little"))
assert _base is not None
_BASE: Point = _base
