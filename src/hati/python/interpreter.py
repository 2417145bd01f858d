"""The interpreter that runs the measured code."""

from __future__ import annotations

from dataclasses import dataclass

from hati.core import InputError

_FROZEN = ("", "on", "off")


@dataclass(frozen=True)
class Interpreter:
    """``command`` starts it; ``roots`` are the folders of a tree from which modules are imported, those that are there.

    ``frozen_modules`` is Python's option of that name (``on``, ``off``, or ``""`` for its own default); ``hash_seed``
    that of all runs, or None for another random one in each, which is recorded.

    Raises:
        InputError: for another ``frozen_modules``, or a root that is not below the tree.
    """

    command: str = "python3"
    roots: tuple[str, ...] = ("src", ".")
    frozen_modules: str = ""
    hash_seed: int | None = None

    def __post_init__(self) -> None:
        if self.frozen_modules not in _FROZEN:
            raise InputError(f"frozen_modules is {self.frozen_modules!r}", fix="write 'on', 'off' or ''")
        if not self.roots or any(root.startswith("/") or ".." in root.split("/") or ":" in root for root in self.roots):
            raise InputError(f"roots are {', '.join(self.roots) or 'missing'}", fix="name folders below the project's")
        if self.hash_seed is not None and not 0 <= self.hash_seed < 2**32:
            raise InputError(f"a hash seed of {self.hash_seed}", fix="give one from 0 to 4294967295")

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the recorder is told."""
        told = [f"roots={':'.join(self.roots)}"]
        if self.frozen_modules:
            told.append(f"frozen={self.frozen_modules}")
        if self.hash_seed is not None:
            told.append(f"hash_seed={self.hash_seed}")
        return tuple(told)
