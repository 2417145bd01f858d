"""The interpreter that runs the measured code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from hati.core import InputError
from hati.python.installing import VENV

_FROZEN = ("", "on", "off")
_INSTALLING = Path(__file__).with_name("installing.py")


@dataclass(frozen=True)
class Environment:
    """A virtual environment of each revision's own, made from its own lock or project file, once.

    ``python`` is the interpreter that it is of; ``extra`` are requirements that workloads have besides, in every
    revision; ``options`` are handed to pip or uv, such as ``--no-index``.

    Raises:
        InputError: for an empty requirement or option.
    """

    python: str = "python3"
    extra: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all((self.python, *self.extra, *self.options)):
            raise InputError("an environment has an empty requirement or option")

    @property
    def build(self) -> tuple[str, ...]:
        """The command that makes it in a revision's tree."""
        told = [f"extra={text}" for text in self.extra] + [f"option={text}" for text in self.options]
        words = (sys.executable, "-I", str(_INSTALLING), f"python={self.python}", *told)
        return tuple(word.replace("{", "{{").replace("}", "}}") for word in words)


@dataclass(frozen=True)
class Interpreter:
    """``command`` starts it, unless each revision has an ``environment`` of its own; ``roots`` are the folders of a
    tree from which modules are imported, those that are there.

    ``frozen_modules`` is Python's option of that name (``on``, ``off``, or ``""`` for its own default); ``hash_seed``
    that of all runs, or None for another random one in each, which is recorded.

    Raises:
        InputError: for another ``frozen_modules``, or a root that is not below the tree.
    """

    command: str = "python3"
    roots: tuple[str, ...] = ("src", ".")
    frozen_modules: str = ""
    hash_seed: int | None = None
    environment: Environment | None = None

    def __post_init__(self) -> None:
        if self.frozen_modules not in _FROZEN:
            raise InputError(f"frozen_modules is {self.frozen_modules!r}", fix="write 'on', 'off' or ''")
        if not self.roots or any(root.startswith("/") or ".." in root.split("/") or ":" in root for root in self.roots):
            raise InputError(f"roots are {', '.join(self.roots) or 'missing'}", fix="name folders below the project's")
        if self.hash_seed is not None and not 0 <= self.hash_seed < 2**32:
            raise InputError(f"a hash seed of {self.hash_seed}", fix="give one from 0 to 4294967295")

    @property
    def program(self) -> str:
        """What starts it in a tree."""
        return self.command if self.environment is None else f"./{VENV}/bin/python"

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the recorder is told."""
        told = [f"roots={':'.join(self.roots)}"]
        if self.frozen_modules:
            told.append(f"frozen={self.frozen_modules}")
        if self.hash_seed is not None:
            told.append(f"hash_seed={self.hash_seed}")
        return tuple(told)
