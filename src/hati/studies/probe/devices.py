"""A file's disk and the loopback network: rates and latencies of operations for which a program waits."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.studies.probe.finding import Property, Raw, inconclusive, median_interval, median_property, pooled

DISK_METHOD = "durable-rates-1"
NETWORK_METHOD = "acknowledged-1"
_BLOCK = 2.0**20
_PARTS = 8


def disk(raw: Raw) -> tuple[Property, ...]:
    """Throughput of blocks of 1 MiB, each made durable; latency of an append with fdatasync; effect of the cache.

    A rate is total bytes over total time: a throttled disk answers in bursts, whose median is meaningless.
    """
    times = raw["durable_ns"]
    parts = np.array([_BLOCK * part.size / part.sum() for part in np.array_split(times, min(_PARTS, times.size))])
    rate = _BLOCK * times.size / float(times.sum())
    spread = 2.0 * float(parts.std(ddof=1)) / np.sqrt(parts.size) if parts.size > 1 else 0.0
    found = [
        Property("disk.durable", rate * 1e9, "B/s", (float((rate - spread) * 1e9), float((rate + spread) * 1e9))),
        median_property("disk.append", raw["append_ns"] / 1e3, "us"),
        median_property("disk.cached_read", raw["cached_read_ns"] / 1e3, "us"),
    ]
    if "direct_read_ns" not in raw:
        return (*found, inconclusive("disk.direct_read", "us", "the file system permits no direct reads (O_DIRECT)"))
    direct = median_property("disk.direct_read", raw["direct_read_ns"] / 1e3, "us")
    effect = (direct.value or 0.0) / (found[2].value or 1.0)
    return (*found, direct, Property("disk.cache_effect", effect, "1"))


def link_properties(raw: Raw) -> dict[str, Property]:
    """Round trip and bandwidth of a link, by their names."""
    return {each.name: each for each in network(raw, "net.link")}


def network(raw: Raw, prefix: str = "net.loopback") -> tuple[Property, ...]:
    """The round trip of a byte in µs, and the acknowledged bytes per second of a stream.

    Written bytes may wait in buffers: only acknowledged bytes have arrived. The first window fills the buffers and is
    left out.
    """
    trips = median_property(f"{prefix}_round_trip", raw["round_trip_ns"] / 1e3, "us")
    rates: FloatArray = (raw["acknowledged_bytes"] / raw["window_ns"])[1:]
    if rates.size < 3:
        return trips, inconclusive(f"{prefix}_bandwidth", "B/s", "the stream has fewer than three windows")
    total = float(pooled(raw, "acknowledged_bytes")[1:].sum() / pooled(raw, "window_ns")[1:].sum())
    low, high = median_interval(rates)
    return trips, Property(f"{prefix}_bandwidth", total * 1e9, "B/s", (min(low, total) * 1e9, max(high, total) * 1e9))
