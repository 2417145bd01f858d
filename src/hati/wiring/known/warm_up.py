"""The warm-up of a project's benchmarks, as stored runs show it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from hati.core import Benchmark, FloatArray, StudyId
from hati.knowledge import Entry, KnownWarmUp, Provenance, warm_up_of
from hati.store import Selection
from hati.wiring.workplace import Workplace

if TYPE_CHECKING:
    from hati.studies.gate import WarmUpCut

_NEWEST = 32
"""The number of runs that a warm-up is estimated from."""
_LOOKED_AT = 4 * _NEWEST
"""The number of runs, failed ones included, that are searched for them."""
_KEY = "warm_up"


def known_warm_up(
    place: Workplace, benchmark: Benchmark, metric: str, now: datetime | None = None
) -> Entry[KnownWarmUp] | None:
    """The warm-up in the newest runs on this machine; None if the project states one, or if none shows."""
    return _known_warm_ups(place, benchmark, (metric,), now).get(metric)


def _known_warm_ups(
    place: Workplace, benchmark: Benchmark, metrics: Collection[str], now: datetime | None = None
) -> dict[str, Entry[KnownWarmUp]]:
    """The warm-ups of those metrics that show one, by the metrics' names."""
    if benchmark.warmup_place is not None:
        return {}
    newest = Selection(benchmark=benchmark.name, machine=place.machine.fingerprints, newest=_LOOKED_AT)
    runs: dict[str, list[tuple[datetime, FloatArray]]] = {name: [] for name in metrics}
    for run in place.store.runs(newest):
        for observed in run.observations:
            if observed.metric in runs:
                runs[observed.metric].append((run.started, observed.values))
    known = {name: _known(own, now or datetime.now(UTC)) for name, own in runs.items()}
    return {name: entry for name, entry in known.items() if entry is not None}


def _known(runs: list[tuple[datetime, FloatArray]], now: datetime) -> Entry[KnownWarmUp] | None:
    newest = sorted(runs, key=lambda run: run[0])[-_NEWEST:]
    found = warm_up_of([values for _, values in newest])
    if found is None:
        return None
    last = newest[-1][0]
    return Entry(found, Provenance("stored samples", len(newest), last), now - last, "the newest runs on this machine")


def warm_up_cuts(place: Workplace, study: StudyId, benchmarks: Sequence[Benchmark]) -> tuple[WarmUpCut, ...]:
    """The warm-up that a campaign leaves out of each run: as stored at its start, else as known now."""
    from hati.studies.gate import WarmUpCut  # `hati run` asks for hints only

    begun = next((record for record in place.store.studies() if record.id.key == study.key), None)
    if begun is not None:
        return tuple(WarmUpCut(**row) for row in json.loads(begun.choice or "{}").get(_KEY, []))
    return tuple(
        WarmUpCut(benchmark.name, metric, entry.value.observations, _reason(entry))
        for benchmark in benchmarks
        for metric, entry in _known_warm_ups(place, benchmark, _metrics(benchmark)).items()
    )


def _metrics(benchmark: Benchmark) -> tuple[str, ...]:
    return tuple(metric.name for metric in benchmark.metrics)


def with_cuts(choice: str, cuts: Sequence[WarmUpCut]) -> str:
    """The choice of a campaign, a JSON text, with the warm-up cuts."""
    return json.dumps({**json.loads(choice), _KEY: [asdict(cut) for cut in cuts]}) if cuts else choice


def _reason(entry: Entry[KnownWarmUp]) -> str:
    found = entry.value
    return f"{found.steady} of the {found.runs} newest runs until {entry.provenance.measured:%Y-%m-%d} are steady"


def warm_up_hints(place: Workplace, benchmark: Benchmark) -> tuple[str, ...]:
    """Sentences that advise to state a warm-up in the project file if runs are known to warm up and it states none."""
    return tuple(
        f"{benchmark.name}: the first {entry.value.observations:,} observations of a run are known to be warm-up of "
        f'{metric} ({entry.source}), and the mean includes them; leave them out by warmup = "auto" in hati.toml'
        for metric, entry in _known_warm_ups(place, benchmark, _metrics(benchmark)).items()
    )
