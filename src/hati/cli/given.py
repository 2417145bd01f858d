"""Options that are given on the command line and have no meaning beside others: said, not ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer


def refuse_given(context: typer.Context, names: Sequence[str], where: str) -> None:
    """See that none of these parameters is on the command line, whatever its value; ``where`` they are not for.

    Raises:
        InputError: naming the first that is.
    """
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"--{name.replace('_', '-')} is not for {where}", fix="leave one of them out")
