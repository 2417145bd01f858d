"""From a command's output to the observations of its run, for runs on this machine and for results sent to it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from hati.core import Benchmark, InputError, Job, Observations, Outcome, Resources, Run, replace
from hati.core.run import REMARKS_APART
from hati.subject.readers import OUTPUT, read, unsettled
from hati.subject.running.programs import Masking
from hati.subject.running.recipe import Recipe

NO_COUNTS: Mapping[str, float] = {}
_NO_MASKING = Masking()
_SHOWN = 4096
"""Characters of output that a run keeps."""
WORK_MARKER, PORT_MARKER = "@HATI_WORK@", "@HATI_PORT@"
"""What stands in rendered files for a work folder and a port that only the machine of the run knows."""


def read_observations(
    benchmark: Benchmark,
    output: bytes,
    used: Resources,
    source: str = OUTPUT,
    folder: Path | None = None,
    counts: Mapping[str, float] = NO_COUNTS,
    masking: Masking = _NO_MASKING,
) -> tuple[Observations, ...]:
    """The observations in a command's output; the arguments are those of ``read``.

    Raises:
        InputError: where it cannot be read; the message quotes no part of a secret.
    """
    try:
        return read(benchmark, output, used, source, folder, counts)
    except InputError as error:
        why = error
    try:
        read(benchmark, masking.mask_bytes(output), used, source, folder, counts)
    except InputError as error:
        why = error
    raise InputError(str(why))


class RawResult(Struct, frozen=True):
    """What another machine sent of a job: how it ended, its standard output, and the content of its output file.

    ``started`` is in UTC; ``seconds`` is the whole time of the job; ``exit`` is the command's exit status. Only the
    ``outcome`` DONE has output to read.
    """

    outcome: Outcome
    started: datetime
    seconds: float
    detail: str = ""
    stdout: bytes = b""
    output: bytes | None = None
    exit: int | None = None
    resources: Resources | None = None


def remote_recipe(job: Job) -> Recipe:
    """The recipe of a job that another machine does; its folders are markers."""
    return Recipe(job.benchmark, job.task, Path(WORK_MARKER), Path(WORK_MARKER), 0)


def run_of_result(job: Job, machine: str, result: RawResult) -> Run:
    """The run of a job on the machine with a fingerprint, read by the benchmark's reader.

    Output that cannot be read makes a run that failed.
    """
    outcome, detail, observed = result.outcome, result.detail, tuple[Observations, ...]()
    if outcome is Outcome.DONE:
        try:
            observed, detail = _observed(job, result)
        except InputError as error:
            outcome, detail = Outcome.UNREADABLE, str(error)
    shown = result.stdout.decode("utf-8", "replace")[-_SHOWN:]
    started = outcome.started
    return Run(
        job.task,
        machine,
        result.started,
        result.seconds,
        outcome,
        detail,
        result.exit if started else None,
        shown,
        result.resources if started else None,
        observed,
    )


def _observed(job: Job, result: RawResult) -> tuple[tuple[Observations, ...], str]:
    """The observations of a completed command, and remarks on them."""
    recipe = remote_recipe(job)
    if result.resources is None:
        raise InputError("the result has no usage of resources")
    output, source = result.stdout, OUTPUT
    if recipe.output is not None:
        source = recipe.output.name
        if result.output is None:
            raise InputError(f"the command did not write {source}", fix="`output` and the command must name it equally")
        output = result.output
    benchmark = replace(job.benchmark, reader=recipe.reader)
    observed = read_observations(benchmark, output, result.resources, source)
    return observed, REMARKS_APART.join(unsettled(benchmark, observed))
