"""Results of runs: the observations in a command's output, and the run of a job that another machine did."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from hati.core import Benchmark, InputError, Job, Observations, Outcome, Place, Resources, Run, replace
from hati.core.run import REMARKS_APART
from hati.subject.readers import read, unsettled
from hati.subject.readings import OUTPUT
from hati.subject.running.programs import LARGEST_OUTPUT, Masking
from hati.subject.running.recipe import remote_recipe

NO_COUNTS: Mapping[str, float] = {}
_NO_MASKING = Masking()
_SHOWN = 4096
"""Characters of output that a run keeps."""


def read_written(path: Path) -> bytes:
    """The content of a file that a command wrote.

    Raises:
        InputError: where it does not exist, is not a file, cannot be read, or is larger than ``LARGEST_OUTPUT``.
    """
    place = Place(path.name)
    if not path.is_file():
        what = "this is not a file" if path.exists() else "the command did not write this file"
        raise InputError(what, place=place, fix="`output` and the command must name the same file")
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_OUTPUT + 1)
    except OSError as error:
        raise InputError(
            f"the file cannot be read: {error.strerror or error}", place=place, fix="let the command make it readable"
        ) from None
    if len(data) > LARGEST_OUTPUT:
        raise InputError("the file has more than 16 MiB", place=place, fix="let the command write less")
    return data


def read_observations(
    benchmark: Benchmark,
    output: bytes,
    used: Resources,
    source: str = OUTPUT,
    folder: Path | None = None,
    counts: Mapping[str, float] = NO_COUNTS,
    masking: Masking = _NO_MASKING,
    project: Path | None = None,
) -> tuple[Observations, ...]:
    """The observations in a command's output; the arguments are those of ``read``.

    Raises:
        InputError: where it cannot be read; the message quotes no part of a secret.
    """
    try:
        return read(benchmark, output, used, source, folder, counts, project)
    except InputError as error:
        why = error
    try:
        read(benchmark, masking.mask_bytes(output), used, source, folder, counts, project)
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
    filled = recipe.reader is not job.benchmark.reader
    benchmark = replace(job.benchmark, reader=recipe.reader) if filled else job.benchmark
    observed = read_observations(benchmark, output, result.resources, source)
    return observed, REMARKS_APART.join(unsettled(benchmark, observed))
