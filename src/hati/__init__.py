"""Hati: which options decide a program's performance, and whether it changed.

Start with ``hati --help``; the rooms are listed in ``docs/explanation/architecture.md``. What Python code says about
its own performance is imported from here: ``hati.workload``, ``hati.instance``, ``hati.measured``, ``hati.spl``,
``hati.Performance``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hati.python import SELF, Performance, exists, for_all, instance, measured, spl, workload

__all__ = ["SELF", "Performance", "exists", "for_all", "instance", "measured", "spl", "workload"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hati import python  # when it is asked for: who imports hati pays for nothing else

    return getattr(python, name)
