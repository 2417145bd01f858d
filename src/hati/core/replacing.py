"""A value with some of its fields changed, checked like a new one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec import Struct, structs

if TYPE_CHECKING:
    # Type checkers know the fields of whatever `dataclasses.replace` is given, and not those of `structs.replace`.
    from dataclasses import replace
else:

    def replace(value, /, **changes):
        """The value with the changes, validated again; of dataclasses as of Structs."""
        if isinstance(value, Struct):
            return structs.replace(value, **changes)
        return dataclasses.replace(value, **changes)


__all__ = ["replace"]
