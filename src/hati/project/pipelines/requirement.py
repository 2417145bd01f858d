"""The requirement that installs this Hati again, on another machine."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.metadata import Distribution, distribution
from typing import Any

from msgspec import Struct

NAME = "hati"

_URL = re.compile(r"[a-z0-9+.-]+://[A-Za-z0-9._~:/@!%+=?&,-]+")
_REACHABLE = ("https://", "http://", "ssh://", "git://")


class InstalledHati(Struct, frozen=True):
    """The requirement of an installation, pinned; empty if no other machine can install it, for the ``reason``."""

    requirement: str
    reason: str = ""

    def __post_init__(self) -> None:
        if bool(self.requirement) == bool(self.reason):
            raise ValueError("either a requirement, or the reason why there is none")


def installed_hati(of: Distribution | None = None) -> InstalledHati:
    """Return the pinned requirement of the running Hati: a release, the URL of an archive, or a git revision.

    Source: https://packaging.python.org/en/latest/specifications/direct-url/ (PEP 610); a release has no such record.
    """
    found = distribution(NAME) if of is None else of
    record = found.read_text("direct_url.json")
    if record is None:
        return InstalledHati(f"{NAME}=={found.version}")
    return _of_url(json.loads(record))


def _of_url(record: Mapping[str, Any]) -> InstalledHati:
    url = str(record["url"])
    if "dir_info" in record:
        return InstalledHati("", "it is installed from a folder")
    if not url.startswith(_REACHABLE) or not _URL.fullmatch(url):
        return InstalledHati("", f"it is installed from {url}")
    fragment = [f"subdirectory={record['subdirectory']}"] if record.get("subdirectory") else []
    if "vcs_info" in record:
        url = f"{record['vcs_info']['vcs']}+{url}@{record['vcs_info']['commit_id']}"
    else:
        fragment += _hash(record["archive_info"])
    return InstalledHati(f"{NAME} @ {url}" + ("#" + "&".join(fragment) if fragment else ""))


def _hash(archive: Mapping[str, Any]) -> list[str]:
    """The archive's SHA-256 as a fragment of its URL, if it was recorded."""
    known = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").partition("sha256=")[2]
    return [f"sha256={known}"] if known else []
