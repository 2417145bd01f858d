"""The statistic of a run of each benchmark and metric: kept with the campaigns of a store, or chosen from its runs."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import Benchmark, Sample, StudyId
from hati.store import Selection
from hati.studies.comparison import (
    VERSION,
    Basis,
    Question,
    Statistic,
    StatisticChoice,
    StatisticChoices,
    VarianceRatios,
    candidate_values,
    choose_statistic,
    variance_ratios,
)
from hati.wiring.workplace import Workplace

_KINDS = ("gate", "paired", "replay")
"""The studies that keep their choices."""


def keep_statistics(place: Workplace, study: StudyId, choices: StatisticChoices) -> None:
    """Keep what a campaign counts runs by, where it was chosen."""
    if choices.rows:
        place.store.keep_choice(study, choices.to_json())


def statistics_of(
    place: Workplace, study: StudyId, question: Question, benchmarks: Sequence[Benchmark]
) -> StatisticChoices:
    """What a campaign counts runs by: as it was begun, else as an earlier one did, else by the stored runs.

    A campaign that was begun before choices were kept goes on with the mean. Runs of the campaign itself have no part.
    Nothing is chosen where a statistic is asked for.
    """
    if isinstance(question.statistic, Statistic):
        return StatisticChoices()
    records = place.store.studies()
    begun = next((record for record in records if record.id.key == study.key), None)
    if begun is not None:
        return StatisticChoices.from_json(begun.choice) if begun.choice else StatisticChoices()
    kept = [
        StatisticChoices.from_json(record.choice)
        for record in reversed(records)
        if record.id.kind in _KINDS and record.choice
    ]
    rows: list[tuple[str, str, StatisticChoice]] = []
    for benchmark in benchmarks:
        names = [metric.name for metric in benchmark.metrics]
        known = {name: _kept(kept, benchmark.name, name) for name in names}
        fresh = _chosen(place, benchmark.name, [name for name in names if known[name] is None])
        rows += [(benchmark.name, name, known[name] or fresh[name]) for name in names]
    return StatisticChoices(tuple(rows))


def _kept(kept: Sequence[StatisticChoices], benchmark: str, metric: str) -> StatisticChoice | None:
    """The newest choice by the present version of the rule that rests on runs."""
    known = (
        choice
        for choices in kept
        for name, other, choice in choices.rows
        if (name, other) == (benchmark, metric) and choice.version == VERSION
    )
    return next((choice for choice in known if choice.basis in {Basis.HISTORY, Basis.OTHERS}), None)


def _chosen(place: Workplace, benchmark: str, metrics: Sequence[str]) -> dict[str, StatisticChoice]:
    """For each metric by the runs of this benchmark on this machine, else by those of the others."""
    if not metrics:
        return {}
    ratios: dict[tuple[str, str], VarianceRatios] = {}
    grouped: dict[tuple[str, str], list[Sample]] = {}
    for sample in place.store.samples(Selection()):
        if sample.metric.name in metrics and sample.machine == place.machine.fingerprint:
            grouped.setdefault((sample.benchmark, sample.metric.name), []).append(sample)
    for key, samples in grouped.items():
        found = variance_ratios([candidate_values(sample) for sample in samples])
        if found is not None and all(_positive(sample) for sample in samples):
            ratios[key] = found
    return {
        metric: choose_statistic(
            ratios.get((benchmark, metric)),
            [found for (name, other), found in ratios.items() if name != benchmark and other == metric],
        )
        for metric in metrics
    }


def _positive(sample: Sample) -> bool:
    return min(float(values.min()) for values in sample.steady) > 0.0
