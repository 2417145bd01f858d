"""Signatures: the vectors of RFC 8032, and a comparison with an independent implementation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.volunteer.ed25519 import verify

ORDER = 2**252 + 27742317777372353535851937790883648493
VECTORS = json.loads((Path(__file__).parent / "rfc8032.json").read_text())["vectors"]


@pytest.mark.parametrize("name", VECTORS)
def test_the_vectors_of_the_rfc(name: str) -> None:
    public, message, signature = (bytes.fromhex(VECTORS[name][part]) for part in ("public", "message", "signature"))
    assert verify(public, message, signature)
    assert not verify(public, message + b"!", signature)
    assert not verify(public, message, signature[:-1])
    assert not verify(public[1:], message, signature)


def independent(public: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def changed(data: bytes, bit: int) -> bytes:
    place = bit // 8 % len(data)
    return data[:place] + bytes([data[place] ^ 1 << bit % 8]) + data[place + 1 :]


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200), st.integers(0, 511), st.sampled_from("PMS-"))
@settings(max_examples=30, deadline=None)
def test_it_accepts_what_another_implementation_accepts(seed: bytes, message: bytes, bit: int, part: str) -> None:
    private = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = private.public_key().public_bytes_raw(), private.sign(message)
    if part == "P":
        public = changed(public, bit)
    elif part == "S":
        signature = changed(signature, bit)
    elif part == "M":
        message += bytes([bit % 256])
    assert verify(public, message, signature) == independent(public, message, signature) == (part == "-")


def test_other_encodings_of_a_valid_signature_are_not_valid() -> None:
    private = Ed25519PrivateKey.generate()
    public, signature = private.public_key().public_bytes_raw(), private.sign(b"m")
    scalar = int.from_bytes(signature[32:], "little") + ORDER
    assert not verify(public, b"m", signature[:32] + scalar.to_bytes(32, "little"))
    no_point = (2**255 - 19 + 1).to_bytes(32, "little")  # y = 1, not in its shortest form
    assert not verify(no_point, b"m", signature)
    assert not verify((2).to_bytes(32, "little"), b"m", signature), "no point has this y"
