"""Requirements that install this Hati again, by how it was installed."""

from __future__ import annotations

import json
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Any

import pytest

from hati.project import InstalledHati, installed_hati

COMMIT = "7921be1537eac1e97bc40179a57f0349c2aee67d"
GIT = {"vcs": "git", "requested_revision": "main", "commit_id": COMMIT}


def installation(folder: Path, record: dict[str, Any] | None) -> PathDistribution:
    place = folder / "hati-1.2.3.dist-info"
    place.mkdir()
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: hati\nVersion: 1.2.3\n")
    if record is not None:
        (place / "direct_url.json").write_text(json.dumps(record))
    return PathDistribution(place)


@pytest.mark.parametrize(
    ("record", "requirement"),
    [
        (None, "hati==1.2.3"),
        (
            {"url": "https://code.example/h/hati.git", "vcs_info": GIT},
            f"hati @ git+https://code.example/h/hati.git@{COMMIT}",
        ),
        (
            {"url": "ssh://git@code.example/h.git", "vcs_info": GIT, "subdirectory": "python"},
            f"hati @ git+ssh://git@code.example/h.git@{COMMIT}#subdirectory=python",
        ),
        (
            {
                "url": "https://files.example/hati-1.2.3-py3-none-any.whl",
                "archive_info": {"hashes": {"sha256": "ab12"}},
            },
            "hati @ https://files.example/hati-1.2.3-py3-none-any.whl#sha256=ab12",
        ),
        (
            {"url": "https://files.example/hati.tar.gz", "archive_info": {"hash": "sha256=ab12"}, "subdirectory": "p"},
            "hati @ https://files.example/hati.tar.gz#subdirectory=p&sha256=ab12",
        ),
        (
            {"url": "https://files.example/hati-1.2.3-py3-none-any.whl", "archive_info": {}},
            "hati @ https://files.example/hati-1.2.3-py3-none-any.whl",
        ),
    ],
)
def test_an_installation_is_pinned(record: dict[str, Any] | None, requirement: str, tmp_path: Path) -> None:
    assert installed_hati(installation(tmp_path, record)) == InstalledHati(requirement)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"url": "file:///home/me/hati", "dir_info": {"editable": True}}, "it is installed from a folder"),
        ({"url": "file:///home/me/hati", "dir_info": {}}, "it is installed from a folder"),
        ({"url": "file:///tmp/hati.whl", "archive_info": {}}, "it is installed from file:///tmp/hati.whl"),
        ({"url": "file:///srv/hati", "vcs_info": GIT}, "it is installed from file:///srv/hati"),
        ({"url": "https://x/${{ a }}.whl", "archive_info": {}}, "it is installed from https://x/${{ a }}.whl"),
    ],
)  # fmt: skip
def test_what_only_this_machine_has_is_not(record: dict[str, Any], reason: str, tmp_path: Path) -> None:
    assert installed_hati(installation(tmp_path, record)) == InstalledHati("", reason)


def test_there_is_either_a_requirement_or_a_reason() -> None:
    for requirement, reason in (("", ""), ("hati==1", "because")):
        with pytest.raises(ValueError, match="either"):
            InstalledHati(requirement, reason)
