"""The installed packages, read from the names of their metadata folders: a run must not import a module for this."""

from __future__ import annotations

import os
from collections.abc import Iterable

_RECORDS = (".dist-info", ".egg-info")


def installed(folders: Iterable[str]) -> str:
    """A line for each package in these folders: name, version, and the commit or archive of its source; no path.

    Of several packages with one name the first counts, as for imports. Metadata without a version, as in source
    folders, is skipped.
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
    """The commit or archive hash that a package was installed from; empty if its metadata has none."""
    try:
        with open(os.path.join(record, "direct_url.json"), "rb") as file:
            content = file.read()
    except OSError:
        return ""
    archive = content.partition(b'"archive_info"')[2].partition(b"}")[0]
    found = _texts(content, b'"commit_id"')[:1] or _texts(archive, b'"hash"')[:1] or _texts(archive, b'"hashes"')[:2]
    return f" {os.fsdecode(b'='.join(found))}" if found else ""


def _texts(content: bytes, key: bytes) -> list[bytes]:
    """The quoted texts that follow a key."""
    return content.partition(key)[2].split(b'"')[1::2]
