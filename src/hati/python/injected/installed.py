"""Which packages are installed, read from the names of their records alone: in a run nothing may be loaded for it."""

from __future__ import annotations

import os
from collections.abc import Iterable

_RECORDS = (".dist-info", ".egg-info")


def installed(folders: Iterable[str]) -> str:
    """A line for each package in these folders: its name, version and the commit or archive it is from; no path.

    Of packages of one name the first counts, as for imports. A source folder that is marked as one has no version of
    its own, and is none of them.
    """
    found: dict[str, str] = {}
    for folder in folders:
        for record in _records(folder):
            stem, _, last = record.rpartition(".")[0].rpartition("-")
            name, _, version = stem.rpartition("-") if last.startswith("py") else (stem, "", last)
            if name:
                plain = name.lower().replace("_", "-").replace(".", "-")
                found.setdefault(plain, f"{plain} {version}{_origin(os.path.join(folder, record))}\n")
    return "".join(sorted(found.values()))


def _records(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(_RECORDS))
    except OSError:
        return []


def _origin(record: str) -> str:
    """The commit or the archive's hash that a package was installed from, where its record has one."""
    try:
        with open(os.path.join(record, "direct_url.json"), "rb") as file:
            told = file.read()
    except OSError:
        return ""
    archive = told.partition(b'"archive_info"')[2].partition(b"}")[0]
    found = _texts(told, b'"commit_id"')[:1] or _texts(archive, b'"hash"')[:1] or _texts(archive, b'"hashes"')[:2]
    return f" {os.fsdecode(b'='.join(found))}" if found else ""


def _texts(told: bytes, key: bytes) -> list[bytes]:
    """What is between quotes behind a key."""
    return told.partition(key)[2].split(b'"')[1::2]
