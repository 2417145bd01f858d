"""Which sample belongs to which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from hati.core import InputError, Sample, conversion, replace

_Key = tuple[str, ...]


class SamplePair(Struct, frozen=True):
    """Two samples of the same benchmark, metric and workload; of the same configuration, or two that are compared."""

    before: Sample
    after: Sample


class Unmatched(Struct, frozen=True):
    """Names of samples that only the first side has, and only the second."""

    before: tuple[str, ...]
    after: tuple[str, ...]


def pairs(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[tuple[SamplePair, ...], Unmatched]:
    """The samples that belong together, in the order of the first, and the rest.

    By benchmark, metric, configuration and workload; where one side has several of these, by machine and then by
    revision too. Where each side has one configuration only, these are compared, and need not be the same.

    Raises:
        InputError: where one side has several that cannot be distinguished, or nothing belongs together, or a pair has
        units that cannot be converted, or other directions that are better.
    """
    single = _single(before) & _single(after)
    first, second = _grouped(before, single), _grouped(after, single)
    found = [pair for key in first if key in second for pair in _of_key(first[key], second[key])]
    if not found:
        raise InputError(
            "no benchmark is in both",
            fix="compare samples of the same benchmarks, metrics, configurations and workloads",
        )
    for pair in found:
        if pair.before.metric.better is not pair.after.metric.better:
            raise InputError(
                f"{_name(pair.before)}: {pair.before.metric.better.value} is better before, and"
                f" {pair.after.metric.better.value} after",
                fix="compare samples that agree which is better",
            )
        _check_units(pair)
    return tuple(found), Unmatched(tuple(_alone(first, second)), tuple(_alone(second, first)))


def _check_units(pair: SamplePair) -> None:
    try:
        conversion(pair.after.metric.unit, pair.before.metric.unit)
    except InputError as error:
        raise InputError(f"{_name(pair.before)}: {error.message}", fix="compare samples in units of one kind") from None


def _alone(own: dict[_Key, list[Sample]], other: dict[_Key, list[Sample]]) -> Iterator[str]:
    """The names of samples missing on the other side, or of the same machine where it has several."""
    for key, samples in own.items():
        if key not in other:
            yield _name(samples[0])
        elif len(samples) > 1 or len(other[key]) > 1:
            machines = {sample.machine for sample in other[key]}
            yield from (f"{_name(one)} on {one.machine}" for one in samples if one.machine not in machines)


def across(found: Sequence[SamplePair]) -> tuple[str, ...]:
    """The remarks on pairs whose configurations are not the same."""
    apart = [(pair.before, pair.after) for pair in found if pair.before.configuration != pair.after.configuration]
    lines = (
        f"{a.benchmark}: {a.configuration or 'default'} before, {b.configuration or 'default'} after" for a, b in apart
    )
    return tuple(dict.fromkeys(lines))


def earlier_samples(found: Sequence[SamplePair], history: Sequence[Sample]) -> list[list[Sample]]:
    """For each pair the samples of a history that are of the same, with two runs or more, in its order.

    The same are benchmark, metric, configuration, workload and, where both are known, machine. A sample of the pair
    itself is not earlier than it.
    """
    known = _grouped(history, set())
    return [
        [
            sample
            for sample in known.get((*_about(pair.before), pair.before.configuration.key), ())
            if len(sample.runs) > 1 and _is_earlier(sample, pair)
        ]
        for pair in found
    ]


def gathered(history: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples of a history, those of a single run each being the runs of one sample where they are of the same.

    The same are benchmark, metric with its unit, configuration, workload, revision and machine. Levels that differ
    between such runs count as noise.
    """
    several = [sample for sample in history if len(sample.runs) > 1]
    alone = defaultdict[_Key, list[Sample]](list)
    for sample in history:
        if len(sample.runs) == 1:
            alone[(*sample.identity, sample.metric.unit)].append(sample)
    joined = (replace(own[0], runs=tuple(run for each in own for run in each.runs)) for own in alone.values())
    return (*several, *joined)


def _is_earlier(sample: Sample, pair: SamplePair) -> bool:
    before = pair.before
    elsewhere = bool(sample.machine and before.machine) and sample.machine != before.machine
    return not elsewhere and sample.runs not in (before.runs, pair.after.runs)


def _of_key(first: Sequence[Sample], second: Sequence[Sample]) -> list[SamplePair]:
    if len(first) == len(second) == 1:
        return [SamplePair(first[0], second[0])]
    machines = {sample.machine: sample for sample in second}
    for side, samples in (("first", first), ("second", second)):
        if len({sample.machine for sample in samples}) < len(samples):
            revisions = sorted({sample.revision for sample in samples})
            raise InputError(
                f"the {side} has several samples of {_name(samples[0])}, of the revisions {', '.join(revisions)}",
                fix="compare files of one revision each",
            )
    return [SamplePair(sample, machines[sample.machine]) for sample in first if sample.machine in machines]


def _single(samples: Sequence[Sample]) -> set[_Key]:
    """The benchmarks, metrics and workloads of which there is one configuration only."""
    found = defaultdict[_Key, set[str]](set)
    for sample in samples:
        found[_about(sample)].add(sample.configuration.key)
    return {about for about, configurations in found.items() if len(configurations) == 1}


def _grouped(samples: Sequence[Sample], single: set[_Key]) -> dict[_Key, list[Sample]]:
    found = defaultdict[_Key, list[Sample]](list)
    for sample in samples:
        about = _about(sample)
        found[about if about in single else (*about, sample.configuration.key)].append(sample)
    return dict(found)


def _about(sample: Sample) -> _Key:
    return sample.benchmark, sample.metric.name, sample.workload.key


def _name(sample: Sample) -> str:
    parts = (sample.benchmark, sample.metric.name, str(sample.configuration), str(sample.workload))
    return " ".join(filter(None, parts))
