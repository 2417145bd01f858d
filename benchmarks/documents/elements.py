"""What ``benchmarks.parsing`` measures: Python's XML parser (expat) building a tree from documents of many sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from xml.etree import ElementTree

import hati

CELLS = 6
WORDS = ("moon", "wolf", "chase", "night", "sky", "swallow", "run")


def parse(document: bytes) -> ElementTree.Element:
    """The root of the tree that the document describes."""
    return ElementTree.fromstring(document)


def written(elements: int) -> bytes:
    """A document of so many elements, about 55 bytes each: a table of rows of six cells, the last row of fewer."""
    rows, left = divmod(elements - 1, CELLS + 1)
    lengths = [CELLS] * rows + ([left - 1] if left else [])
    return "\n".join(["<table>", *(_row(number, cells) for number, cells in enumerate(lengths)), "</table>"]).encode()


def _row(number: int, cells: int) -> str:
    written = [
        f'  <cell column="{column}" key="{(number * CELLS + column) * 7919 % 99991:05}">{WORDS[column]} {number}</cell>'
        for column in range(cells)
    ]
    return "\n".join([f'<row number="{number:05}" kind="{WORDS[number % len(WORDS)]}">', *written, "</row>"])


@hati.workload
def document(elements: int) -> Iterator[bytes]:
    """The same for every call."""
    return repeat(written(elements))
