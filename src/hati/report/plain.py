"""What is exchanged, as JSON can say it."""

from __future__ import annotations

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]
