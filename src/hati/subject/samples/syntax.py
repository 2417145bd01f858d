"""Where a JSON document that cannot be parsed goes wrong, and what is wrong there."""

from __future__ import annotations

from typing import BinaryIO

from hati.core import InputError, Place

_CHUNK = 1 << 16
_SHOWN = 10_000
_SURROGATE = "surrogate"


def syntax_error(stream: BinaryIO, file: str) -> InputError:
    """The error of a document that is no JSON, with line and column.

    It is parsed once more, and the part in which this fails byte by byte.
    """
    start, _ = _failure(stream, None)
    offset, reason = _failure(stream, start)
    message, fix = _explained(stream, offset, reason)
    return InputError(message, place=_place(stream, file, offset), fix=fix)


def _failure(stream: BinaryIO, bytewise_from: int | None) -> tuple[int, str]:
    """Where the part begins at which parsing fails, and why; a document that ends too early fails at its end."""
    import ijson.backends.yajl2_c as parser
    from ijson.common import JSONError
    from ijson.utils import sendable_list

    events = sendable_list()
    parsing = parser.basic_parse_coro(events, use_float=True)
    stream.seek(0)
    offset = 0
    try:
        while part := stream.read(_CHUNK):
            whole = bytewise_from is None or offset < bytewise_from
            for piece in [part] if whole else [part[n : n + 1] for n in range(len(part))]:
                parsing.send(piece)
                events.clear()
                offset += len(piece)
        parsing.close()
    except JSONError as error:
        reason = error.args[0]
        return offset, reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    except UnicodeDecodeError:  # of surrogates, at the end of the text that holds them
        return offset, _SURROGATE
    return offset, ""


def _explained(stream: BinaryIO, offset: int, reason: str) -> tuple[str, str | None]:
    stream.seek(offset)
    here = stream.read(1)
    if not here:
        return ("the file is empty" if offset == 0 else "the JSON ends before it is complete"), "is the file whole?"
    if reason == _SURROGATE:
        return "the text that ends here is not valid UTF-8", "save the file as UTF-8"
    if "UTF8" in reason:
        return f"byte 0x{here[0]:02x} is not UTF-8", "save the file as UTF-8"
    if here in b"NI":
        return "NaN and Infinity are not numbers of JSON", "leave out what was not measured"
    if "overflow" in reason:
        return "this number is too large", "use a larger unit"
    first = reason.splitlines()[0] if reason else "parse error"
    return f"this is not JSON: {first.partition(': ')[2] or first}", None


def _place(stream: BinaryIO, file: str, offset: int) -> Place:
    """Line and column of a byte, and the line's text where it is not too long to be shown."""
    stream.seek(0)
    line, start, position = 1, 0, 0
    while position < offset:
        part = stream.read(min(_CHUNK, offset - position))
        line += part.count(b"\n")
        last = part.rfind(b"\n")
        start = position + last + 1 if last >= 0 else start
        position += len(part)
    stream.seek(max(start, offset - _SHOWN))
    before = stream.read(offset - stream.tell())
    column = len(before.decode("utf-8", "replace")) + 1
    if start < offset - _SHOWN:
        return Place(file, line, offset - start + 1)
    after = stream.readline(_SHOWN)
    return Place(file, line, column, (before + after).decode("utf-8", "replace"))
