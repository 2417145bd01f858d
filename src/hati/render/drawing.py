"""Charts are drawn in a process of their own, which the browser engine of vl-convert can end without ending Hati."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hati.render.scripts import vega_lite_version

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
