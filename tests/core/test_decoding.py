"""Two threads that read a type for the first time at once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from hati.core import convert, decode

AT_ONCE = """
import threading
import msgspec
import msgspec._utils as analysis
from hati.core import convert, decode

class Inner(msgspec.Struct):
    x: "int"

class Outer(msgspec.Struct):
    inner: "Inner"

read = {"decode": lambda: decode(b'{"inner": {"x": 1}}', Outer), "convert": lambda: convert({"inner": {"x": 1}}, Outer)}
found = []
second = threading.Thread(target=lambda: found.append(read["SECOND"]()))
usual = analysis._forward_ref

def interrupted(annotation):
    if annotation == "int" and second.ident is None:
        second.start()
        second.join(0.5)  # it waits for this thread, as it must
    return usual(annotation)

analysis._forward_ref = interrupted
found.append(read["FIRST"]())
second.join()
assert found == [Outer(Inner(1))] * 2
print("read by both")
"""


@pytest.mark.parametrize("first", ["decode", "convert"])
@pytest.mark.parametrize("second", ["decode", "convert"])
def test_a_thread_waits_until_another_has_analysed_the_type(first: str, second: str) -> None:
    script = AT_ONCE.replace("FIRST", first).replace("SECOND", second)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "read by both\n"), done.stderr


class Level(int):
    """A type that msgspec does not know."""


class Known(Struct):
    level: Level


def made(kind: type[Any], value: Any) -> object:
    return kind(value)


def test_what_is_read_is_of_the_type() -> None:
    assert decode(b'{"level": 3}', Known, made) == convert({"level": 3}, Known, made) == Known(Level(3))
    assert decode("[1, 2]", list[int]) == convert((1, 2), list[int]) == [1, 2]
    with pytest.raises(msgspec.ValidationError, match="Expected `int`"):
        decode(b'["a"]', list[int])
    with pytest.raises(msgspec.DecodeError, match="truncated"):
        decode(b"[", list[int])
