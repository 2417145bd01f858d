"""What the beginning of a JSON document tells of its shape: which members stand where."""

from __future__ import annotations

from io import BytesIO

from msgspec import Struct

_DEEPEST = 4


class Outline(Struct, frozen=True):
    """Whether a document is a list, and the paths of its members, lists' items without their numbers.

    ``results.command`` is the member ``command`` of the member ``results``, or of the items of that.
    """

    listed: bool
    members: frozenset[str]

    def has(self, *members: str) -> bool:
        """Whether all of these are there."""
        return self.members.issuperset(members)


def outline(head: bytes) -> Outline | None:
    """The outline of a document of which this is the beginning; None where it is none of an object or a list."""
    import ijson.backends.yajl2_c as parser
    from ijson.common import JSONError

    listed: bool | None = None
    keys: list[str | None] = []  # of each that is open: the key of what comes next, None in a list
    members: set[str] = set()
    try:
        for event, value in parser.basic_parse(BytesIO(head), use_float=True, buf_size=256):
            if event in {"start_map", "start_array"}:
                listed = event == "start_array" if listed is None else listed
                keys.append("" if event == "start_map" else None)
            elif event in {"end_map", "end_array"}:
                keys.pop()
            elif event == "map_key":
                keys[-1] = str(value)
                if len(keys) <= 2 * _DEEPEST:
                    members.add(".".join(key for key in keys if key is not None))
    except (JSONError, UnicodeDecodeError):  # it ends here, or is malformed further on
        pass
    return None if listed is None else Outline(listed, frozenset(members))
