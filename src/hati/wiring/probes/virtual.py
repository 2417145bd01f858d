"""Experiments on virtualisation: the same work inside and outside, or here and on a machine that was probed."""

from __future__ import annotations

import shlex
from shutil import which

import numpy as np

from hati.core import FloatArray, InputError, MeasurementError, digest, replace
from hati.prediction import MeasuredNumber
from hati.probing import AddedExperiment, KernelProgram, Setting
from hati.probing.accounts import Watch
from hati.probing.executing import execute
from hati.probing.inside import copied, remove
from hati.studies.probe import (
    INSIDE_METHOD,
    REFERENCE_METHOD,
    Experiment,
    Inputs,
    slowdown_against,
    slowdown_inside,
)

NAME = "virt.speed"
_PAIRS, _BURST_SECONDS, _REPETITION_MS = 8, 0.5, 2.0
"""Pairs with --quick; a burst is long enough for several periods of a quota."""
_UNPINNED = -1


def parse_inside(text: str) -> tuple[str, ...]:
    """The words of a command that runs a program inside of a container or virtual machine.

    Raises:
        InputError: where there are none, or the first one cannot be found on this machine.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"--inside {text!r} is not a command: {error}", fix="close the quotation") from None
    if not words:
        raise InputError("--inside has no command", fix="write it like --inside 'docker exec -i NAME'")
    if which(words[0]) is None:
        raise InputError(f"--inside: there is no program `{words[0]}` on this machine", fix="install it, or correct it")
    return words


def inside_experiment(command: tuple[str, ...]) -> AddedExperiment:
    """The experiment on work that a command runs inside, in alternation with the same work outside."""

    def prepare(setting: Setting, _: Inputs) -> tuple[Setting, Setting]:
        """The settings outside and inside."""
        outside = replace(setting, program=_portable(setting.program))
        prefix = (*setting.prefix, *command)
        return outside, replace(setting, program=copied(outside.program, prefix), prefix=prefix)

    return AddedExperiment(
        Experiment(
            NAME,
            f"slow-down of work by {shlex.join(command)}",
            f"{INSIDE_METHOD}-{digest(command, length=12)}",
            {"virt.slowdown": "1", "virt.cpu_slowdown": "1"},
            lambda raw, _: slowdown_inside(raw),
            ("cpu.rate",),
        ),
        _interleaved,
        prepare,
        lambda _, settings: remove(settings[1].program, settings[1].prefix),
    )


def _portable(program: KernelProgram) -> KernelProgram:
    """The program without shared libraries, which a container may lack, where it can be compiled so."""
    try:
        return KernelProgram(flags=("-static",))
    except MeasurementError:
        return program


def _interleaved(setting: Setting, inputs: Inputs, settings: tuple[Setting, Setting]) -> dict[str, FloatArray]:
    """Pairs of bursts; raw observations as in ``slowdown_inside``, and ``first``: 0 where a pair began outside."""
    pairs = round(_PAIRS * setting.scale)
    first = np.random.default_rng().permutation(np.arange(pairs) % 2)
    raw, foreign = {"first": first.astype(np.float64)}, list[float]()
    for pair, begins in enumerate(first):
        for side in (begins, 1 - begins):
            watch = Watch(setting.cpus)
            duration, units = int(_BURST_SECONDS * 1e9), int(_REPETITION_MS * inputs["cpu.rate"])
            found = settings[side].run("work", duration, units, "other", _UNPINNED)
            if not side:
                foreign.append(watch.accounts().foreign / len(setting.cpus))
            for clock in ("wall", "cpu"):
                raw[f"{('outside', 'inside')[side]}_{clock}_ns/{pair}"] = found[f"work_{clock}_ns"]
    return {**raw, "others": np.array([np.mean(foreign)])}


def reference_experiment(reference: MeasuredNumber) -> AddedExperiment:
    """The experiment on work here, compared with the rate of the same work on another machine."""
    rate = (reference.value, reference.low, reference.high)

    def executed(setting: Setting, inputs: Inputs, _: object) -> dict[str, FloatArray]:
        return {**execute("cpu.work", setting, inputs).raw, "reference_rate": np.array(rate)}

    return AddedExperiment(
        Experiment(
            NAME,
            f"slow-down of work against {reference.machine}",
            f"{REFERENCE_METHOD}-{digest([reference.machine, *map(repr, rate)], length=12)}",
            {"virt.cpu_slowdown": "1"},
            lambda raw, _: slowdown_against(raw, reference.machine),
        ),
        executed,
    )
