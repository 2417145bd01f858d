"""The JavaScript that makes a page's charts interactive, bundled once on a machine and then kept.

vl-convert needs two seconds to bundle it. It is the same for every page, so it is kept in the user's cache folder
($XDG_CACHE_HOME/hati on Linux); what is kept is used only where its digest agrees, and nothing but time depends on it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from importlib.metadata import version
from pathlib import Path

import platformdirs


@functools.cache
def chart_script() -> str:
    """JavaScript that defines ``vegaEmbed`` with all that it needs; it loads nothing from elsewhere."""
    import vl_convert

    file = platformdirs.user_cache_path("hati") / f"vega-{vega_lite_version()}-{version('vl-convert-python')}.js"
    kept = _kept(file)
    if kept is not None:
        return kept
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vega_lite_version())
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time only
        _keep(file, script)
    return script


def vega_lite_version() -> str:
    """The version of Vega-Lite that charts are made for, as vl-convert names it."""
    import altair

    return ".".join(altair.VEGALITE_VERSION.split(".")[:2])


def _kept(file: Path) -> str | None:
    try:
        digest, _, script = file.read_bytes().partition(b"\n")
    except OSError:
        return None
    return script.decode() if digest == _digest(script) else None


def _keep(file: Path, script: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(_digest(script.encode()) + b"\n" + script.encode())
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def _digest(script: bytes) -> bytes:
    return hashlib.sha256(script).hexdigest().encode()
