"""``python -m benchmarks.accuracy``: screening and suites on real systems, all of whose configurations were measured.

For each system and seed: a screening with the design that Hati chooses for a budget of four runs per main-effect
parameter, the share of variance that the first three options of its ranking capture, and a screening suite of the same
size compared with random samples. For each system also 400 screenings of shuffled values. The tables are read from
``HATI_DATA``, else from ``../shared/data``; arguments select systems.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import binom

from benchmarks.markdown import table
from hati.campaign import campaign
from hati.core import Budget, FloatArray, StudyId, generator, replace
from hati.design import Levels, levels
from hati.design.suite import leading_options, screening_suite
from hati.engine import TableEngine
from hati.stats import explained, ks_distance, stratified_mean
from hati.studies.screening import (
    ALPHA,
    AnyChoice,
    AnyScreening,
    Screening,
    ScreeningConclusion,
    choose_design,
    screening,
)
from hati.subject.table import MeasuredTable
from hati.testing import MemoryStore
from hati.wiring.table import TableRequest, table_workplace
from hati.wiring.workplace import Workplace

SEEDS = range(1, 21)
SHUFFLES = 400
RANDOM = 400
PER_PARAMETER = 4
FIRST = 3
LOW = 0.05
DATA = Path(os.environ.get("HATI_DATA", Path(__file__).parents[2] / "shared" / "data")) / "configurable-systems"
MODELS = {"llvm": "Performance", "lrzip": "Performance", "hipacc": "Performance", "hsqldb": "performance"}
PLAIN = {
    "llvm-passes": ("Performance-", ("Performance-", "Cpu-")),
    "llvm-passes Cpu": ("Cpu-", ("Performance-", "Cpu-")),
    "tao": ("latency_us", ("latency_us", "order")),
}


@dataclass(frozen=True, eq=False)
class System:
    """A table of all valid configurations, with values that are computed once."""

    name: str
    place: Workplace
    metric: str

    @property
    def table(self) -> MeasuredTable:
        """The measured configurations."""
        assert self.place.table is not None
        return self.place.table

    @cached_property
    def levels(self) -> Levels:
        """The levels of the configurations."""
        return levels(self.table.configurations, self.place.project.space)

    @cached_property
    def logs(self) -> FloatArray:
        """The logarithms of the configurations' values."""
        return np.asarray(np.log(self.table.means(self.metric)))

    @property
    def parameters(self) -> int:
        """The number of parameters: main effects and intercept."""
        return 1 + sum(len(option.settings) - 1 for option in self.place.project.space.options)

    @cached_property
    def best(self) -> float:
        """The share of variance that the best three options explain together."""
        count = self.levels.shape[1]
        return max(explained(self.levels, self.logs, three) for three in combinations(range(count), FIRST))

    def captured(self, ranking: tuple[str, ...]) -> float:
        """The share that the first three options of a ranking explain, relative to the best."""
        names = self.place.project.space.names
        return explained(self.levels, self.logs, [names.index(name) for name in ranking[:FIRST]]) / self.best

    def shuffled(self, seed: int) -> MeasuredTable:
        """The table with its rows' values in another order."""
        values = self.table.values[self.metric]
        order = np.random.default_rng(seed).permutation(len(values))
        return replace(self.table, values={self.metric: tuple(values[i] for i in order)})


def systems(folder: Path, wanted: Sequence[str]) -> Iterator[tuple[System, int]]:
    """The systems, each with the number of its releases."""
    for name, metric in MODELS.items():
        if wanted and name not in wanted:
            continue
        file = next(DATA.joinpath(name).glob("measurements.csv*"))
        space = imported(folder / name, DATA / name / "FeatureModel.xml")
        releases = revisions(file) if name == "hsqldb" else [None]
        for revision in releases:
            where = () if revision is None else (f"revision={revision}",)
            request = TableRequest(file, space, (metric,), where)
            yield System(" ".join(filter(None, (name, revision))), table_workplace(request), metric), len(releases)
    for name, (metric, left_out) in PLAIN.items():
        if wanted and name not in wanted:
            continue
        file = DATA / name.split()[0] / "measurements.csv.gz"
        space = imported(folder / name, file, *(f"--metric={m}" for m in left_out))
        yield System(name, table_workplace(TableRequest(file, space, (metric,))), metric), 1


def imported(folder: Path, file: Path, *more: str) -> Path:
    folder.mkdir()
    hati = str(Path(sys.executable).with_name("hati"))
    space = folder / "hati.toml"
    subprocess.run([hati, "space", "import", str(file), *more, "--output", str(space)], check=True, capture_output=True)
    return space


def revisions(file: Path) -> list[str]:
    import csv
    import gzip

    with gzip.open(file, "rt") as text:
        return list(dict.fromkeys(row["revision"] for row in csv.DictReader(text, delimiter=";")))


class Designs:
    """Designs by space and seed: releases of a system share theirs."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, int], AnyChoice] = {}
        self.seconds = 0.0

    def choice(self, system: System, seed: int) -> AnyChoice:
        """The design that the tool chooses."""
        space = system.place.project.space
        key = (space.digest, seed)
        if key not in self._made:
            start = time.perf_counter()
            runs = PER_PARAMETER * system.parameters
            self._made[key] = choose_design(space, runs, generator(seed, "design"), most=1)
            self.seconds += time.perf_counter() - start
        return self._made[key]


def screened(system: System, choice: AnyChoice, seed: int) -> ScreeningConclusion:
    study = study_of(system, choice, seed)
    return campaign(study, TableEngine(system.table, system.place.machine), MemoryStore(), Budget())


def alarmed(system: System, choice: AnyChoice, seed: int) -> bool:
    """Whether a screening of shuffled values calls anything important."""
    study, store = study_of(system, choice, seed), MemoryStore()
    for run in TableEngine(system.shuffled(seed), system.place.machine).run(study.tasks):
        store.record(run)
    evidence = store.evidence(study.id)
    if isinstance(study, Screening):
        return any(effect.shown for effect in study.conclude(evidence).effects)
    return any(effect.important for effect in study.analysis(study.measured(evidence)).effects)


def study_of(system: System, choice: AnyChoice, seed: int) -> AnyScreening:
    place = system.place
    (benchmark,) = place.project.benchmarks
    return screening(
        study=StudyId.of("screening", {"system": system.name}, seed, place.machine.fingerprint),
        subject=system.name,
        benchmark=benchmark,
        metric=benchmark.metric(system.metric),
        revision=place.revision,
        space=place.project.space,
        choice=choice,
    )


@dataclass(frozen=True)
class Suite:
    """The distances of a suite, and of random samples of equal size (means), from the whole space."""

    runs: int
    ks: float
    random_ks: float
    error: float
    random_error: float


def suite(system: System, conclusion: ScreeningConclusion, runs: int, seed: int, samples: int) -> Suite:
    space = system.place.project.space
    values = dict(zip(system.table.configurations, system.logs.tolist(), strict=True))
    chosen = leading_options(space, conclusion.influential or conclusion.ranking[:1], runs)
    made = screening_suite(space, chosen, runs, generator(seed, "suite"), conclusion.ranking)
    found = np.array([values[configuration] for configuration in made.configurations])
    estimate = stratified_mean(found, made.owners, made.shares).estimate
    rng = np.random.default_rng(seed)
    whole, size = system.logs, len(found)
    drawn = [rng.choice(whole, size, replace=False) for _ in range(samples)]
    even = np.full(size, 1.0 / size)
    return Suite(
        size,
        ks_distance(found, made.weights, whole),
        float(np.mean([ks_distance(sample, even, whole) for sample in drawn])),
        (estimate - whole.mean()) ** 2,
        float(np.mean([(sample.mean() - whole.mean()) ** 2 for sample in drawn])),
    )


@dataclass(frozen=True, eq=False)
class Found:
    """The results for a system: captured shares by seed, false alarms among ``shuffles``, and its suites."""

    name: str
    parameters: int
    runs: int
    shares: FloatArray
    alarms: int
    shuffles: int
    ks: float
    error: float

    @property
    def credible(self) -> bool:
        """Whether false alarms are compatible with the study-wise level, by the 99 % binomial bound."""
        return self.alarms <= binom.ppf(0.99, self.shuffles, ALPHA)

    @property
    def row(self) -> list[object]:
        """Its row of the table."""
        captured = (f"{np.mean(self.shares):.4f}", f"{np.quantile(self.shares, LOW):.4f}")
        alarms = f"{self.alarms} of {self.shuffles}"
        return [self.name, self.parameters, self.runs, *captured, alarms, f"{self.ks:.2f}", f"{self.error:.2f}"]


def measured(system: System, designs: Designs, numbers: range, seeds: Sequence[int]) -> Found:
    choices = {seed: designs.choice(system, seed) for seed in seeds}
    conclusions = {seed: screened(system, choices[seed], seed) for seed in seeds}
    suites = [
        suite(system, conclusion, choices[seed].runs, seed, RANDOM // len(seeds))
        for seed, conclusion in conclusions.items()
    ]
    return Found(
        name=system.name,
        parameters=system.parameters,
        runs=choices[seeds[0]].runs,
        shares=np.array([system.captured(conclusion.ranking) for conclusion in conclusions.values()]),
        alarms=sum(alarmed(system, choices[seeds[number % len(seeds)]], number) for number in numbers),
        shuffles=len(numbers),
        ks=float(np.mean([s.ks for s in suites]) / np.mean([s.random_ks for s in suites])),
        error=float(np.sqrt(np.mean([s.error for s in suites]) / np.mean([s.random_error for s in suites]))),
    )


def result(wanted: Sequence[str] = (), seeds: Sequence[int] = SEEDS, of_shuffled: int = SHUFFLES) -> tuple[str, bool]:
    """The table, and whether the goals are met; of all systems, or of those named."""
    if not DATA.is_dir():
        return f"Accuracy: skipped, there is no {DATA.name}; HATI_DATA names the folder of the data.\n", True
    found, designs = list[Found](), Designs()
    with tempfile.TemporaryDirectory() as name:
        for system, releases in systems(Path(name), wanted):
            offset, shuffles = 1000 * (1 + len(found)), of_shuffled // releases
            found.append(measured(system, designs, range(offset, offset + shuffles), seeds))
            print(*found[-1].row, sep=" | ", file=sys.stderr, flush=True)
    header = ["system", "p", "runs", "captured", "5th percentile", "false alarms", "KS", "error"]
    goals = judged(found)
    note = (
        f"Seeds {seeds[0]} to {seeds[-1]}. Captured: mean and 5th percentile over the seeds. KS: distance of the "
        "suite's distribution from the whole's over that of random samples of the same size; error: the same for the "
        f"root mean square error of the mean log. Designs took {designs.seconds:.0f} s.\n\n"
        + "\n".join(f"- {'met' if held else 'MISSED'}: {text}" for text, held in goals)
    )
    return table("Screening and suites on real systems", header, [f.row for f in found], note), all(h for _, h in goals)


def judged(found: Sequence[Found]) -> list[tuple[str, bool]]:
    """The goals in words with the observed values, and whether each is met."""
    goals = list[tuple[str, bool]]()
    first = [f for f in found if f.name.split()[0] in MODELS]
    if first:
        shares = np.concatenate([f.shares for f in first])
        mean, low = float(shares.mean()), float(np.quantile(shares, LOW))
        families = Counter(f.name.split()[0] for f in first)
        weights = np.concatenate([np.full(len(f.shares), 1.0 / families[f.name.split()[0]]) for f in first])
        even, even_low = float(np.average(shares, weights=weights)), weighted_quantile(shares, weights, LOW)
        goals.append((f"captured share of {len(shares)} screenings {mean:.4f} (>= .99)", mean >= 0.99))
        goals.append((f"their 5th percentile {low:.4f} (>= .98)", low >= 0.98))
        goals.append((f"with systems, not releases, weighted equally {even:.4f} (>= .99)", even >= 0.99))
        goals.append((f"and the 5th percentile {even_low:.4f} (>= .98)", even_low >= 0.98))
    worst = max(found, key=lambda f: f.alarms / f.shuffles)
    goals.append(
        (f"most false alarms: {worst.name}, {worst.alarms} of {worst.shuffles}", all(f.credible for f in found))
    )
    ks, error = max(f.ks for f in found), float(np.mean([f.error for f in found]))
    goals.append((f"the suites' distances at most {ks:.2f} of random's (< 1)", ks < 1.0))
    goals.append((f"their errors on average {error:.2f} of random's (<= .4)", error <= 0.4))
    return goals


def weighted_quantile(values: FloatArray, weights: FloatArray, level: float) -> float:
    order = np.argsort(values)
    return float(values[order][np.searchsorted(np.cumsum(weights[order]), level * weights.sum())])


def main(wanted: list[str]) -> int:
    text, held = result(wanted)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
