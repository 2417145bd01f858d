"""The client in one file, which runs on a machine that has Python and nothing else."""

from __future__ import annotations

import io
import pkgutil
import zipfile

_MODULES = (
    *("__init__", "agent", "artefacts", "command", "connection", "ed25519", "envelope"),
    *("files", "jobs", "limits", "registration", "runner", "sandbox", "spool", "zipapp"),
)
_START = """\
import sys

if sys.version_info < (3, 9):
    sys.exit("error: this needs Python 3.9 or later")

from hati_join.command import main

sys.exit(main())
"""
_DATE = (1980, 1, 1, 0, 0, 0)


def archive() -> bytes:
    """The client as a file for ``python3``; equal clients are equal files."""
    made = io.BytesIO(b"")
    made.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(made, "a", zipfile.ZIP_DEFLATED) as target:
        _add(target, "__main__.py", _START.encode())
        for name in _MODULES:
            source = pkgutil.get_data(__package__, f"{name}.py")
            assert source is not None, name
            _add(target, f"hati_join/{name}.py", source)
    return made.getvalue()


def _add(target: zipfile.ZipFile, name: str, data: bytes) -> None:
    about = zipfile.ZipInfo(name, _DATE)
    about.compress_type = zipfile.ZIP_DEFLATED
    about.external_attr = 0o644 << 16
    target.writestr(about, data)
