"""``hati worker``: run, on this machine, the batches that campaigns with ``--engine workers`` release into a store."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import say
from hati.cli.parameters import HERE, ProjectPath, StorePlace
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


def worker(
    path: ProjectPath = HERE,
    store: StorePlace = None,
    once: _Once = False,
    idle: _Idle = None,
    lease: _LeaseTime = "60s",
) -> None:
    """Run batches that campaigns release to workers."""
    from hati.wiring.grid import serve

    made: list[Run] = []
    limit = 0.0 if once else math.inf if idle is None else parse_duration(idle)
    try:
        serve(path, store, limit, parse_duration(lease), say, made.append)
    except KeyboardInterrupt:
        say("ended on request")
    say(f"{len(made):,} run{'' if len(made) == 1 else 's'} made")
