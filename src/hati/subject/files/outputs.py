"""Files that Hati wrote into a project's folder on request, and secrets, which are kept nowhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

_MASK = "***"
_SHORTEST = 4
"""Fewer characters are no secret, and masking them would garble all that is printed."""


class Masking(Struct, frozen=True):
    """The values that are masked, longest first."""

    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Collection[str], environment: Mapping[str, str]) -> Masking:
        """That of the values of variables of the environment."""
        values = {environment[name] for name in names if len(environment.get(name, "")) >= _SHORTEST}
        return cls(tuple(sorted(values, key=lambda value: (-len(value), value))))

    def mask(self, text: str) -> str:
        """The text with `***` for each value, and for the part of one where the text is cut in the middle of it."""
        for value in self.values:
            text = text.replace(value, _MASK)
        for value in self.values:
            for length in range(len(value) - 1, _SHORTEST - 1, -1):
                if text.startswith(value[-length:]):
                    text = _MASK + text[length:]
                if text.endswith(value[:length]):
                    text = text[:-length] + _MASK
        return text

    def mask_bytes(self, data: bytes) -> bytes:
        """The data with `***` for each value."""
        for value in self.values:
            data = data.replace(value.encode("utf-8", "surrogateescape"), _MASK.encode())
        return data


_LIST = Path(".hati") / "outputs"
_LINE = re.compile(r"(?:(?:[0-9a-f]{64}|store)  )?(.+)")
"""Earlier versions wrote a hash, or ``store``, before the path."""


def remember_output(file: Path) -> None:
    """Remember a file as Hati's own, for the project whose folder it lies in, if there is one."""
    file = file.resolve()
    root = next((folder for folder in file.parents if (folder / ".hati").is_dir()), None)
    if root is None or not file.is_file() or file.is_relative_to(root / ".hati"):
        return
    path = file.relative_to(root).as_posix()
    if Path(path) not in outputs(root):
        with suppress(OSError), (root / _LIST).open("a", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(f"{path}\n")


def remember_redirected() -> None:
    """The same for the files that a shell sends what is printed to."""
    for descriptor in (1, 2):
        with suppress(OSError):
            remember_output(Path(f"/proc/self/fd/{descriptor}"))


def outputs(root: Path) -> frozenset[Path]:
    """The files that were remembered, relative to the project's folder."""
    try:
        lines = (root / _LIST).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return frozenset()
    return frozenset(Path(match[1]) for match in map(_LINE.fullmatch, lines) if match)
