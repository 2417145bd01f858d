"""Charts drawn in a process of their own, and the JavaScript that makes them interactive in a page."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any

import platformdirs
from msgspec import Struct


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


_SECONDS = 300.0
_SCALE = 2.0
# Each drawing is written as soon as there is one, behind its length; a negative one is of the reason why there is none.
_DRAWING = """
import json, sys, vl_convert
for request in json.load(sys.stdin):
    about = {"vl_version": request["version"], "allowed_base_urls": []}
    try:
        if request["kind"] == "png":
            drawn = bytes(vl_convert.vegalite_to_png(request["chart"], scale=request["scale"], **about))
        else:
            drawn = vl_convert.vegalite_to_svg(request["chart"], **about).encode()
        size = len(drawn)
    except Exception as error:
        drawn = str(error).encode()
        size = -len(drawn)
    sys.stdout.buffer.write(size.to_bytes(8, "big", signed=True) + drawn)
    sys.stdout.buffer.flush()
"""


class ImageKind(StrEnum):
    """The formats of images."""

    PNG = "png"
    SVG = "svg"


class Drawing(Struct, frozen=True):
    """An image, or the reason why there is none."""

    image: bytes
    reason: str = ""


def draw(charts: Sequence[Mapping[str, Any]], kind: ImageKind) -> tuple[Drawing, ...]:
    """Images of charts, given as Vega-Lite: SVG in UTF-8, or PNG at twice the nominal size.

    What ends the process that draws costs its own drawing only.
    """
    found = list[Drawing]()
    while len(found) < len(charts):
        found += _drawn(charts[len(found) :], kind)
    return tuple(found)


def _drawn(charts: Sequence[Mapping[str, Any]], kind: ImageKind) -> list[Drawing]:
    """Those up to the first that ends the process, which has none."""
    version = vega_lite_version()
    requests = [{"chart": chart, "kind": kind, "version": version, "scale": _SCALE} for chart in charts]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-P", "-c", _DRAWING],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            output, _ = process.communicate(json.dumps(requests).encode(), _SECONDS)
            ended = _ending(process.returncode)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            ended = f"did not end within {_SECONDS:g} s"
        except BaseException:
            process.kill()
            raise
    found = _images(output)
    return found if len(found) == len(charts) else [*found, Drawing(b"", f"the process that draws it {ended}")]


def _images(output: bytes) -> list[Drawing]:
    found, start = list[Drawing](), 0
    while start + 8 <= len(output):
        size = int.from_bytes(output[start : start + 8], "big", signed=True)
        image = output[start + 8 : start + 8 + abs(size)]
        if len(image) < abs(size):
            break
        found.append(Drawing(image) if size >= 0 else Drawing(b"", image.decode("utf-8", "replace")))
        start += 8 + abs(size)
    return found


def _ending(status: int) -> str:
    try:
        return f"ended with signal {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
    except ValueError:
        return f"ended with signal {-status}"
