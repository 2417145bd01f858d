"""Hati: which options decide a program's performance, and whether it changed.

Start with ``hati --help``; the rooms are listed in ``docs/explanation/architecture.md``. What Python code says about
its own performance is imported from here: ``hati.workload``, ``hati.instance``, ``hati.measured``, ``hati.spl``,
``hati.Performance``. ``hati.open``, ``hati.compare``, ``hati.history``, ``hati.screen``, ``hati.check``,
``hati.audit`` and ``hati.assert_`` do what the command line does.
"""

from __future__ import annotations

TYPE_CHECKING = False  # without typing, whose import would delay the program, and show Ctrl-C as a traceback
if TYPE_CHECKING:
    from hati.python import SELF, Performance, exists, for_all, instance, measured, spl, workload
    from hati.wiring.library import assert_, audit, check, compare, history, open_project, screen

    open = open_project  # noqa: A001 - as hati.open

_COMMANDS = {
    "open": "open_project",
    **{name: name for name in ("assert_", "audit", "check", "compare", "history", "screen")},
}
# Without `open`, so that `from hati import *` leaves Python's own.
__all__ = [
    "SELF",
    "Performance",
    "assert_",
    "audit",
    "check",
    "compare",
    "exists",
    "for_all",
    "history",
    "instance",
    "measured",
    "screen",
    "spl",
    "workload",
]


def __getattr__(name: str) -> object:
    if name in _COMMANDS:
        from hati.wiring import library

        return getattr(library, _COMMANDS[name])
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hati import python  # when it is asked for: who imports hati pays for nothing else

    return getattr(python, name)
