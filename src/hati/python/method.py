"""References to Python's functions and methods."""

from __future__ import annotations

import ast
import re

from msgspec import Struct

from hati.core import InputError, Setting

_NAME = r"[^\W\d]\w*"
_CALL = re.compile(r"([^(]+)\((.*)\)", re.DOTALL)
_REFERENCE = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME}(?:\.{_NAME})*)")


class PythonMethod(Struct, frozen=True):
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


class PythonGenerator(Struct, frozen=True):
    """A workload or an instance, with the ``arguments`` that it is given before a formula's parameters."""

    method: PythonMethod
    arguments: tuple[Setting, ...] = ()

    @classmethod
    def parse(cls, text: str) -> PythonGenerator:
        """Read a reference, or one with numbers and texts in brackets.

        Raises:
            InputError: for another text.

        >>> PythonGenerator.parse("bench:rand('uniform', 3)").arguments
        ('uniform', 3)
        """
        match = _CALL.fullmatch(text)
        if match is None:
            return cls(PythonMethod.parse(text))
        try:
            arguments = ast.literal_eval(f"[{match[2]}]")
        except (SyntaxError, ValueError):
            arguments = [None]
        if any(type(each) not in (bool, int, float, str) for each in arguments):
            raise InputError(
                f"{text!r} has arguments that are not numbers and texts", fix="write as rand('uniform', 3)"
            )
        return cls(PythonMethod.parse(match[1]), tuple(arguments))

    @property
    def name(self) -> str:
        """What it is called in the names of benchmarks: without its module."""
        return f"{self.method.path}{self._told}"

    @property
    def _told(self) -> str:
        return f"({', '.join(map(repr, self.arguments))})" if self.arguments else ""

    def __str__(self) -> str:
        return f"{self.method}{self._told}"
