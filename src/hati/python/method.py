"""References to Python's functions and methods."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hati.core import InputError

_NAME = r"[^\W\d]\w*"
_REFERENCE = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME}(?:\.{_NAME})*)")


@dataclass(frozen=True)
class PythonMethod:
    """A function ``path`` of ``module``; the path of a method starts with its class."""

    module: str
    path: str

    @classmethod
    def parse(cls, text: str) -> PythonMethod:
        """Read ``module:function`` or ``module:Class.method``.

        Raises:
            InputError: for another text.

        >>> PythonMethod.parse("pkg.lists:ArrayList.contains")
        PythonMethod(module='pkg.lists', path='ArrayList.contains')
        """
        match = _REFERENCE.fullmatch(text)
        if match is None:
            raise InputError(
                f"{text!r} names no Python function",
                fix="write module:function or module:Class.method, as pkg.lists:sort",
            )
        return cls(match[1], match[2])

    def __str__(self) -> str:
        return f"{self.module}:{self.path}"
