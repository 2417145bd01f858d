"""Designs of any numbers of settings as text and plain values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from hati.design.level_design import LevelDesign, level_properties

LEVEL_FORMAT = "hati-level-design-1"


def write_level_csv(design: LevelDesign, settings: Sequence[Sequence[str]] | None = None) -> str:
    """A header of factors, and a line for every run: the settings' texts, or their positions from 0 without these."""
    texts = settings or [[str(place) for place in range(size)] for size in design.sizes]
    rows = ([its[place] for its, place in zip(texts, row, strict=True)] for row in design.levels.tolist())
    return "".join(_line(row) for row in (design.names, *rows))


def write_level_json(design: LevelDesign) -> str:
    """A JSON object with ``format``, ``kind``, ``factors``, ``sizes`` and ``levels``, positions from 0."""
    return json.dumps(_recipe(design), ensure_ascii=False) + "\n"


def describe_levels(design: LevelDesign) -> dict[str, object]:
    """All that is known of the design, from its levels alone, as values that JSON can hold."""
    known = level_properties(design)
    return _recipe(design) | {
        "runs": known.runs,
        "distinct": known.distinct,
        "strength": known.strength,
        "unbalanced": list(known.unbalanced),
        "correlated": [list(pair) for pair in known.correlated],
        "d_efficiency": known.d_efficiency,
    }


def _recipe(design: LevelDesign) -> dict[str, object]:
    return {
        "format": LEVEL_FORMAT,
        "kind": design.kind,
        "factors": list(design.names),
        "sizes": list(design.sizes),
        "levels": design.levels.tolist(),
    }


def _line(fields: Iterable[str]) -> str:
    return ",".join(_quoted(text) for text in fields) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text
