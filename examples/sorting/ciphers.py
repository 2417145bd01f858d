"""Two ciphers, and what copying a list costs; all take a list of bytes."""

from __future__ import annotations

STATES = 256


def vernam(plain: list[int], key: list[int]) -> bytes:
    """Exclusive or with a key of the same length, all bytes at once: a few loops in C."""
    mixed = int.from_bytes(bytes(plain), "little") ^ int.from_bytes(bytes(key), "little")
    return mixed.to_bytes(len(plain), "little")


def rc4(plain: list[int], key: list[int]) -> bytes:
    """A stream cipher with some ten steps of Python's for each byte, after 256 rounds to prepare it."""
    state, j = list(range(STATES)), 0
    for i in range(STATES):
        j = (j + state[i] + key[i % len(key)]) % STATES
        state[i], state[j] = state[j], state[i]
    mixed, i, j = bytearray(), 0, 0
    for byte in plain:
        i = (i + 1) % STATES
        j = (j + state[i]) % STATES
        state[i], state[j] = state[j], state[i]
        mixed.append(byte ^ state[(state[i] + state[j]) % STATES])
    return bytes(mixed)


def array_copy(plain: list[int]) -> list[int]:
    return plain.copy()
