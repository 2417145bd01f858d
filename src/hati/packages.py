"""What other packages add to Hati, by entry points: loaded by name, and checked.

Looking for entry points reads files, and loading is importing: so this is above the floors that do no I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from hati.core.errors import HatiError, InputError
from hati.core.wording import suggestion

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def added(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, by their names."""
    from importlib.metadata import entry_points  # loads the standard library's email, which most commands do not need

    return tuple(sorted(entry_points(group=group), key=lambda entry: entry.name))


def load_added(group: str, name: str, what: str, check: Callable[[object], T], own: tuple[str, ...] = ()) -> T:
    """What a package adds to a group under a name; ``what`` it is, and ``own`` are the names that Hati has itself.

    Raises:
        InputError: where there is none of that name, or it cannot be loaded; ``check`` raises where it is of no use.
    """
    known = {entry.name: entry for entry in added(group)}
    if name not in known:
        raise InputError(f"there is no {what} {name!r}", fix=suggestion(name, [*own, *known]))
    return load_entry(known[name], what, check)


def load_entry(entry: EntryPoint, what: str, check: Callable[[object], T]) -> T:
    """What an entry point names.

    Raises:
        InputError: where it cannot be loaded, or ``check`` refuses it.
    """
    try:
        return check(entry.load())
    except Exception as error:  # of another's code, whatever it is
        reason = error.message if isinstance(error, HatiError) else f"{type(error).__name__}: {error}"
        raise InputError(
            f"the {what} {entry.name!r} of {entry.value} cannot be used: {reason}", fix="correct or remove its package"
        ) from error


def callable_only(found: object) -> Any:
    """What is loaded, where it can be called.

    Raises:
        InputError: where it cannot.
    """
    if not callable(found):
        raise InputError(f"{found!r} cannot be called")
    return found


def called(what: str, function: Callable[..., T], *arguments: Any) -> T:
    """What a package's function gives; ``what`` names it.

    Raises:
        InputError: where it fails, other than by an error of Hati's.
    """
    try:
        return function(*arguments)
    except HatiError:
        raise
    except Exception as error:  # of another's code, whatever it is
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{what} fails: {reason}", fix="correct or remove its package") from error
