"""The matching of samples: pairs, earlier samples of the same, and bridges between machines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from hati.core import InputError, Sample, SampledRun, conversion, replace
from hati.core.wording import listed

_Key = tuple[str, ...]


class SamplePair(Struct, frozen=True):
    """Two samples of the same benchmark, metric and workload; of the same configuration, or of two that are compared.

    If they are ``across`` machines, ``bridges`` are samples of single revisions that were measured on both: on the
    machine before, and on the one after.
    """

    before: Sample
    after: Sample
    bridges: tuple[tuple[Sample, Sample], ...] = ()

    @property
    def on_other_machines(self) -> bool:
        """Whether the machines of both sides are known and are not the same."""
        return bool(self.before.machine and self.after.machine) and self.before.machine != self.after.machine

    @property
    def mean_of_one_side(self) -> bool:
        """Whether of one side only means are known, and of the other single observations."""
        only_means = [all(run.summary is not None for run in sample.runs) for sample in (self.before, self.after)]
        return only_means[0] is not only_means[1]

    @property
    def across(self) -> bool:
        """Whether machine and revision differ together; with one revision, the machines are compared."""
        return self.on_other_machines and not (self.before.revision and self.before.revision == self.after.revision)


_FIX = "compare samples of the same benchmarks, metrics, configurations and workloads"
_FIX_OF_NAMES = "give both one name, as by `hyperfine --command-name NAME`"


class Unmatched(Struct, frozen=True):
    """Names of samples that only the first side has, and only the second."""

    before: tuple[str, ...]
    after: tuple[str, ...]


def pairs(before: Sequence[Sample], after: Sequence[Sample]) -> tuple[tuple[SamplePair, ...], Unmatched]:
    """The samples that belong together, in the order of the first, and the rest.

    Samples are matched by benchmark, metric, configuration and workload; if a side has several of these, also by
    machine. If each side has only one configuration, these are compared, and need not be the same.

    Raises:
        InputError: if a side has several samples that cannot be distinguished, if nothing matches, or if a pair has
        units that cannot be converted or different better directions.
    """
    single = _single(before) & _single(after)
    first, second = _grouped(before, single), _grouped(after, single)
    found = [pair for key in first if key in second for pair in _of_key(first[key], second[key])]
    if not found:
        raise InputError(
            f"no benchmark is in both: {_listed(first)} before, {_listed(second)} after",
            fix=_FIX_OF_NAMES if _differ_in_name(first, second) else _FIX,
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


def _differ_in_name(first: Iterable[_Key], second: Iterable[_Key]) -> bool:
    """Whether each side has one key, and these differ in the benchmark alone."""
    one, other = [*first], [*second]
    return len(one) == len(other) == 1 and one[0][1:] == other[0][1:]


def _listed(own: dict[_Key, list[Sample]]) -> str:
    return listed([_name(samples[0]) for samples in own.values()]) or "none"


def _check_units(pair: SamplePair) -> None:
    try:
        conversion(pair.after.metric.unit, pair.before.metric.unit)
    except InputError as error:
        raise InputError(f"{_name(pair.before)}: {error.message}", fix="compare samples in units of one kind") from None


def _alone(own: dict[_Key, list[Sample]], other: dict[_Key, list[Sample]]) -> Iterator[str]:
    """The names of samples missing on the other side, or missing for their machine if there are several."""
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
    """For each pair, the matching samples of a history that have two runs or more, in its order.

    They have the same benchmark, metric, configuration, workload and, if both are known, machine. Samples of the pair
    itself are left out.
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


def with_bridges(found: Sequence[SamplePair], history: Sequence[Sample]) -> list[SamplePair]:
    """The pairs; those across machines have their bridges, from samples that match as in `earlier_samples`.

    A bridge is a revision with two runs or more on both machines; its samples are from the history and the pair.
    """
    known = _grouped(history, set())
    return [
        replace(pair, bridges=_bridges(pair, known.get((*_about(pair.before), pair.before.configuration.key), ())))
        if pair.across
        else pair
        for pair in found
    ]


def _bridges(pair: SamplePair, history: Sequence[Sample]) -> tuple[tuple[Sample, Sample], ...]:
    """The bridges in the order of their revisions."""
    if pair.before.configuration != pair.after.configuration:
        return ()
    revisions: dict[str, dict[str, list[Sample]]] = {}
    for sample in (*history, pair.before, pair.after):
        if sample.revision:
            revisions.setdefault(sample.revision, {}).setdefault(sample.machine, []).append(sample)
    both = (
        (_merged(own[pair.before.machine]), _merged(own[pair.after.machine]))
        for own in revisions.values()
        if pair.before.machine in own and pair.after.machine in own
    )
    return tuple(bridge for bridge in both if min(len(side.runs) for side in bridge) > 1)


def _merged(samples: Sequence[Sample]) -> Sample:
    """All runs of matching samples, each once, in the unit of the first."""
    first = samples[0]
    runs = dict.fromkeys(
        place for place in range(len(samples)) if samples[place].runs not in [one.runs for one in samples[:place]]
    )
    return replace(first, runs=tuple(run for place in runs for run in _converted(samples[place], first)))


def _converted(sample: Sample, first: Sample) -> tuple[SampledRun, ...]:
    factor = conversion(sample.metric.unit, first.metric.unit)
    if sample.metric.unit == first.metric.unit:
        return sample.runs
    return tuple(run.times(factor, first.metric.unit) for run in sample.runs)


def gathered(history: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples of a history, with matching samples of a single run gathered into one sample.

    They have the same benchmark, metric with its unit, configuration, workload, revision and machine. Different levels
    of such runs count as noise.
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
                fix="compare files of one revision each, as written by"
                f" `hati export --revision {max(revisions, key=len)} --output FILE`",
            )
    return [SamplePair(sample, machines[sample.machine]) for sample in first if sample.machine in machines]


def _single(samples: Sequence[Sample]) -> set[_Key]:
    """The benchmarks, metrics and workloads that have only one configuration."""
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
