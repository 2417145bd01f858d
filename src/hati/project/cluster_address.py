"""The address of a Dask scheduler, as the name of an engine."""

from __future__ import annotations

import ipaddress
import re
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
        alone = f"{parts.scheme}://{parts.netloc}" == text and "@" not in text
        if parts.scheme not in SCHEMES or not alone or not _is_host(host) or not port:
            raise InputError(f"{text!r} is not the address of a scheduler", fix=_EXAMPLE)
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
    return host == "localhost" or (_is_ip(host) and ipaddress.ip_address(host).is_loopback)


def _is_host(host: str) -> bool:
    return _is_ip(host) or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", host) is not None


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
