"""``hati findings``: the findings in a store, their states, and their acknowledgement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.cli.commands import HERE, FormatOption, Output, StorePlace
from hati.cli.output import STDOUT, Format, check_output, say, write_published
from hati.core import InputError

app = typer.Typer(help="List and acknowledge regressions and improvements.", rich_markup_mode=None)

_Project = Annotated[Path, typer.Option("--project", metavar="PATH", help="Folder with hati.toml, or the file.")]
_Id = Annotated[str, typer.Argument(metavar="FINDING", help="Id of the finding, or its beginning.")]
_Author = Annotated[
    str, typer.Option("--author", metavar="NAME", envvar="HATI_AUTHOR", help="Person who acknowledges it.")
]
_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why the change is accepted, or has to wait.")]
_State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="STATE",
        help="List findings in this state: new, confirmed, acknowledged, resolved or reopened.",
    ),
]


@app.callback(invoke_without_command=True)
def findings(
    context: typer.Context,
    project: _Project = HERE,
    state: _State = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: FormatOption = Format.TEXT,
) -> None:
    """List the findings in the store."""
    if context.invoked_subcommand is not None:
        return
    from hati.core import FindingState
    from hati.core.wording import suggestion
    from hati.document import Joined, publish
    from hati.studies.findings import findings_of
    from hati.studies.findings.document import FindingsJson, findings_table
    from hati.wiring import existing_store

    known = [one.value for one in FindingState]
    if state is not None and state not in known:
        raise InputError(f"there is no state {state!r}", fix=suggestion(state, known))
    check_output(output)
    found = [one for one in findings_of(existing_store(project, store).events()) if state in {None, one.state.value}]
    write_published(publish(Joined(findings=found), FindingsJson), findings_table(found), chosen, output)


@app.command("acknowledge")
def acknowledge(
    finding: _Id,
    reason: _Reason,
    author: _Author,
    project: _Project = HERE,
    store: StorePlace = None,
) -> None:
    """Mark a finding as known: it fails no check until it grows."""
    from hati.wiring import acknowledge, existing_store

    known = acknowledge(existing_store(project, store), finding, author, reason)
    say(f"{known.id} is acknowledged by {known.author}: {known.reason}")
