"""The libraries that draw charts, which are the extra ``charts``: a report without them has its tables only."""

from __future__ import annotations

from importlib.util import find_spec

from hati.core import NotInstalledError

_LIBRARIES = ("altair", "vl_convert")
_WHY = "charts need Altair and vl-convert"
_FIX = "install them: pip install 'hati[charts]'"


def missing_charts() -> str:
    """Why reports have no charts, and the command that changes it; empty where charts are drawn."""
    return "" if all(find_spec(name) is not None for name in _LIBRARIES) else f"{_WHY}; {_FIX}"


def require_charts() -> None:
    """See that charts can be drawn.

    Raises:
        NotInstalledError: without the extra ``charts``.
    """
    if missing_charts():
        raise NotInstalledError(_WHY, fix=_FIX)
