"""The address of a Dask scheduler, as the name of an engine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from msgspec import Struct

from hati.core import InputError

SCHEMES = ("dask", "tls", "tcp")
_EXAMPLE = "write tls://HOST:PORT, such as tls://head.example.org:8786"


class ClusterAddress(Struct, frozen=True):
    """The address of a scheduler, as Dask writes it; ``scheme`` is tls, or tcp on this host's loopback only.

    Raises:
        InputError: for TCP without TLS to another host: whoever reaches a worker there could run programs on it.
    """

    scheme: str
    host: str
    port: int

    def __post_init__(self) -> None:
        if self.scheme != "tls" and not _is_loopback(self.host):
            raise InputError(
                f"{self} is not encrypted, and everybody who reaches that port can run programs there",
                fix=f"start the scheduler and the workers with certificates, and write tls://{self._place}",
            )

    @classmethod
    def parse(cls, text: str) -> ClusterAddress:
        """Read an address; ``dask://`` stands for tcp on loopback, and for tls elsewhere.

        Raises:
            InputError: where it is not one.
        """
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise InputError(f"{text!r} is not the address of a scheduler: {error}", fix=_EXAMPLE) from None
        host = parts.hostname or ""
        if parts.scheme not in SCHEMES or not host or not port or text != f"{parts.scheme}://{parts.netloc}":
            raise InputError(f"{text!r} is not the address of a scheduler", fix=_EXAMPLE)
        if "@" in parts.netloc:
            raise InputError(f"{text!r} has a user, whom schedulers do not know", fix=_EXAMPLE)
        plain = "tcp" if _is_loopback(host) else "tls"
        return cls(plain if parts.scheme == "dask" else parts.scheme, host, port)

    @property
    def _place(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self._place}"


def is_cluster(engine: str) -> bool:
    """Whether the name of an engine is meant as the address of a scheduler."""
    return engine.partition("://")[0] in SCHEMES and "://" in engine


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
