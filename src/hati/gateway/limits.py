"""Limits of requests: how large a body is, and how often a machine or an address may ask."""

from __future__ import annotations

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from msgspec import Struct

from hati.gateway.gateway import Refusal

_GZIP = 31
_MOST_KNOWN = 10_000
_BODY_SECONDS = 60.0


class Rate(Struct, frozen=True):
    """How many requests come at once at most, and how many follow per second."""

    burst: float
    per_second: float


@dataclass
class RateLimiter:
    """Counts the requests of each key, such as an address, in a bucket of tokens."""

    rate: Rate
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def admit(self, key: str, now: float) -> None:
        """Count a request at a time in seconds.

        Raises:
            Refusal: with status 429, where there are too many.
        """
        left, at = self._buckets.pop(key, (self.rate.burst, now))
        left = min(self.rate.burst, left + (now - at) * self.rate.per_second)
        admitted = left >= 1.0
        self._buckets[key] = (left - 1.0 if admitted else left), now
        if len(self._buckets) > _MOST_KNOWN:
            self._buckets.popitem(last=False)
        if not admitted:
            wait = (1.0 - left) / self.rate.per_second
            raise Refusal(429, "too many requests", "wait, and ask less often", wait)


async def read_body(chunks: AsyncIterator[bytes], length: str, encoding: str, most: int) -> bytes:
    """The body of a request as it was sent.

    Args:
        chunks: the body as it comes.
        length: the header Content-Length; empty without it.
        encoding: the header Content-Encoding; empty without it.
        most: the largest number of bytes.

    Raises:
        Refusal: where it is too large or too slow, or has another encoding than gzip.
    """
    if encoding not in {"", "identity", "gzip"}:
        raise Refusal(415, f"the encoding {encoding!r:.40} is not supported", "send gzip, or no encoding")
    if length.isdigit() and int(length[:20]) > most:
        raise _too_large(most)
    parts, size = list[bytes](), 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in chunks:
                size += len(chunk)
                if size > most:
                    raise _too_large(most)
                parts.append(chunk)
    except TimeoutError:
        raise Refusal(408, f"the body did not come within {_BODY_SECONDS:g} s", "send it again") from None
    return b"".join(parts)


def decompressed(body: bytes, most: int) -> bytes:
    """The content of a gzip-compressed body of at most ``most`` bytes; no more than that is decompressed.

    Raises:
        Refusal: where it is larger, or not gzip.
    """
    reader = zlib.decompressobj(_GZIP)
    try:
        found = reader.decompress(body, most + 1)
    except zlib.error:
        raise Refusal(400, "the body is not gzip", "compress it by gzip, or leave Content-Encoding out") from None
    if len(found) > most:
        raise _too_large(most)
    if not reader.eof or reader.unused_data:
        raise Refusal(400, "the gzip stream is cut off, or has something after its end", "send one whole stream")
    return found


def _too_large(most: int) -> Refusal:
    shown = f"{most >> 20} MiB" if most >= 2**20 else f"{most >> 10} KiB"
    return Refusal(413, f"the body has more than {shown}", "send less; a command's output may have 16 MiB")
