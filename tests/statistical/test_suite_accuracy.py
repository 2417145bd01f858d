"""Suites of real systems: nearer to the whole population than random samples of the same size."""

from __future__ import annotations

import csv
import gzip
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from hati.core import Configuration
from hati.design.coding import levels
from hati.design.suite import leading_options, screening_suite
from hati.space import Option, Space, enumerate_configurations, parse_feature_model
from hati.stats import ks_distance

pytestmark = pytest.mark.statistical
SUITES = 30


class System(NamedTuple):
    space: Space
    known: dict[Configuration, float]


def read(folder: Path, delimiter: str = ",") -> list[dict[str, str]]:
    packed = folder / "measurements.csv.gz"
    text = (
        gzip.decompress(packed.read_bytes()).decode() if packed.exists() else (folder / "measurements.csv").read_text()
    )
    return list(csv.DictReader(text.splitlines(), delimiter=delimiter))


def feature_model(folder: Path, metric: str, delimiter: str = ",", revision: str = "") -> System:
    model = parse_feature_model((folder / "FeatureModel.xml").read_text())
    by_features = {model.selected(c): c for c in enumerate_configurations(model.space)}
    known = {}
    for row in read(folder, delimiter):
        if row.get("revision", "") == revision:
            features = frozenset(name for name in model.features if row.get(name) == "1") | model.always
            known[by_features[features]] = np.log(float(row[metric]))
    return System(model.space, known)


def tao(folder: Path) -> System:
    rows = read(folder)
    names = [name for name in rows[0] if name not in {"latency_us", "order"}]
    settings = {name: tuple(sorted({row[name] for row in rows})) for name in names}
    space = Space(tuple(Option(name, settings[name], settings[name][0]) for name in names))
    known = {Configuration({name: row[name] for name in names}): np.log(float(row["latency_us"])) for row in rows}
    return System(space, known)


def oracle(system: System) -> list[str]:
    """The three options whose combinations tell most of the variance, the best first."""
    coded = levels(list(system.known), system.space)
    values = np.array(list(system.known.values()))

    def told(options: tuple[int, ...]) -> float:
        key = (coded[:, options].astype(int) + 1) @ 64 ** np.arange(len(options))
        _, cells = np.unique(key, return_inverse=True)
        means = np.bincount(cells, values) / np.bincount(cells)
        return float(np.var(means[cells]))

    best = max(combinations(range(coded.shape[1]), 3), key=told)
    return [system.space.names[option] for option in sorted(best, key=lambda option: -told((option,)))]


@pytest.mark.parametrize(
    ("name", "runs", "error"),
    [
        ("llvm", 32, 0.5),
        ("lrzip", 32, 0.4),
        ("hsqldb", 48, 0.3),
        pytest.param("tao", 32, 0.85, marks=pytest.mark.acceptance),
    ],
)
def test_suites_of_the_best_options_beat_random_samples(shared_data: Path, name: str, runs: int, error: float) -> None:
    """Mean distance to the population below random's, and root mean square error of the mean log a fraction of it."""
    folder = shared_data / "configurable-systems" / name
    if name == "tao":
        system = tao(folder)
    elif name == "hsqldb":
        system = feature_model(folder, "performance", ";", "2.4.0")
    else:
        system = feature_model(folder, "Performance")
    values = np.array(list(system.known.values()))
    ranking = oracle(system)
    options = leading_options(system.space, ranking, runs)
    errors, distances = np.zeros((SUITES, 2)), np.zeros((SUITES, 2))
    for seed in range(SUITES):
        rng = np.random.default_rng(seed)
        suite = screening_suite(system.space, options, runs, rng, ranking)
        measured = np.array([system.known[configuration] for configuration in suite.configurations])
        random = rng.choice(values, runs, replace=False)
        errors[seed] = suite.weights @ measured - values.mean(), random.mean() - values.mean()
        distances[seed] = ks_distance(measured, suite.weights, values), ks_distance(random, np.ones(runs), values)
    ours, theirs = np.sqrt(np.mean(errors**2, axis=0))
    assert ours < error * theirs
    assert distances[:, 0].mean() < distances[:, 1].mean()
