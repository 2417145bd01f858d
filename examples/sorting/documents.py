"""Listing 3: a function that measures itself."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import hati

if TYPE_CHECKING:
    from hati.python import Once


@hati.measured
def building_test(spl: Once, elements: int) -> None:
    """The document is written once, read again in each turn, and only reading it counts."""
    data = b"<list>" + b"".join(b"<item number='%d'>text</item>" % i for i in range(elements)) + b"</list>"
    stream = BytesIO(data)
    document = None
    while spl.needs_more():
        stream.seek(0)

        spl.start()
        document = ElementTree.parse(stream)
        spl.end()
    assert document is not None
    assert len(document.getroot()) == elements
