"""``hati worker``: run, on this machine, the batches that campaigns release into a store for workers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.commands import HERE, ProjectPath, StorePlace
from hati.cli.output import say
from hati.core import InputError
from hati.core.metric import parse_duration

if TYPE_CHECKING:
    from hati.core import Run

_Once = Annotated[bool, typer.Option("--once", help="End as soon as there is nothing to run.")]
_Idle = Annotated[
    str | None,
    typer.Option("--idle", metavar="TIME", help="End after this time without work, such as 30s [default: never]."),
]
_LeaseTime = Annotated[
    str,
    typer.Option("--lease", metavar="TIME", help="Time without a sign of life after which others run the batch."),
]


_Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Register at a Dask scheduler, such as tls://head:8786 [default: look into the store for batches].",
    ),
]


def worker(
    path: ProjectPath = HERE,
    store: StorePlace = None,
    once: _Once = False,
    idle: _Idle = None,
    lease: _LeaseTime = "60s",
    scheduler: _Scheduler = None,
) -> None:
    """Run batches that campaigns release to workers."""
    from hati.wiring.grid import serve

    made: list[Run] = []
    if once and scheduler is not None:
        raise InputError("--once is not used with --scheduler", fix="write --idle with a time")
    limit = 0.0 if once else math.inf if idle is None else parse_duration(idle)
    try:
        serve(path, store, limit, parse_duration(lease), say, made.append, scheduler)
    except KeyboardInterrupt:
        say("ended on request")
    say(f"{len(made):,} run{'' if len(made) == 1 else 's'} done")
