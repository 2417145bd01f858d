"""How often 95 % intervals of effects hold the mean change where constraints make settings rare.

``python -m benchmarks.tied_options`` prints a table as Markdown, in some ten minutes. Two options exclude each other,
one needs a second and excludes a third, and three pairs interact. The exact changes are those of the simulated program,
over all valid configurations that stay valid with both settings.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import exp, prod

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from benchmarks.simulated import Coefficients, made, planned, program
from hati.core import Configuration, FloatArray, generator
from hati.design import Model, levels
from hati.space import Option, Space, enumerate_configurations, parse_formula
from hati.studies.screening import EffectScale, ScreeningConclusion, choose_design
from hati.studies.screening.model import model_terms
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.population import ValidPopulation

FITS = 2_000
STUDIES = 400
NAMES = ("zlib", "rsyncable", "independent", "large", "checksum", "strategy", "sync", "log")
SPACE = Space(
    tuple(Option(name, (False, True), default=False) for name in NAMES),
    tuple(map(parse_formula, ("not (zlib and rsyncable)", "not independent or (large and not checksum)"))),
)
COEFFICIENTS: Coefficients = {
    ("zlib",): 0.08,
    ("rsyncable",): 0.15,
    ("independent",): 0.10,
    ("large",): -0.10,
    ("strategy",): 0.12,
    ("independent", "rsyncable"): 0.10,
    ("rsyncable", "strategy"): 0.12,
    ("large", "sync"): 0.08,
}
NOISE = 0.03
RUNS = 64
KINDS = ("option", "option at a setting", "interaction")
At = Mapping[str, bool]
Held = dict[str, list[bool]]


def log_value(configuration: Configuration) -> float:
    """The logarithm of a configuration's mean."""
    signs = {name: 1.0 if configuration[name] else -1.0 for name in NAMES}
    return sum(size * prod(signs[name] for name in term) for term, size in COEFFICIENTS.items())


def change(option: str, at: At, scale: EffectScale) -> float:
    """The exact change as a fraction, over the configurations with the settings ``at`` that are valid with both."""
    every = [each for each in enumerate_configurations(SPACE) if at.items() <= each.items()]
    pairs = [[SPACE.canonical({**each, option: end}) for end in (False, True)] for each in every]
    logs = np.array([[log_value(each) for each in pair] for pair in pairs if all(map(SPACE.valid, pair))])
    if scale is EffectScale.LOG:
        return exp(float(np.mean(logs[:, 1] - logs[:, 0]))) - 1.0
    before, after = np.exp(logs).mean(axis=0)
    return float(after / before - 1.0)


def record(held: list[bool], interval: tuple[float, float] | None, truth: float) -> None:
    """Add whether an interval contains the truth; what the runs do not determine has no interval."""
    if interval is not None:
        held.append(interval[0] <= truth <= interval[1])


def concluded(seed: int) -> ScreeningConclusion:
    """The conclusion of one study, planned and run as `hati screen` does."""
    study = planned(SPACE, choose_design(SPACE, RUNS, generator(seed, "design")), seed)
    return study.conclude(made(study, program(SPACE, COEFFICIENTS, NOISE, generator(seed, "noise"))))


def of_studies(studies: int) -> Held:
    """Whether each interval holds, by the kind of effect: of all options, and of those that depend on another."""
    held: Held = defaultdict(list)
    for seed in range(studies):
        conclusion = concluded(seed)
        for effect in conclusion.effects:
            if len(effect.options) == 1:
                truth = change(effect.options[0], {}, conclusion.scale)
                record(held["option"], effect.relative_interval, truth)
        for each in conclusion.conditional_effects:
            truth = change(each.option, {name: bool(setting) for name, setting in each.at.items()}, conclusion.scale)
            record(held["option at a setting"], each.interval, truth)
    return held


def fits(number: int) -> Iterator[ModelFit]:
    """Fits of the model that the program has, to logarithms of random runs."""
    rows = levels([*enumerate_configurations(SPACE)], SPACE)
    truth = np.array([log_value(each) for each in enumerate_configurations(SPACE)])
    terms = [tuple(sorted(map(NAMES.index, term))) for term in COEFFICIENTS]
    model = Model((2,) * len(NAMES), tuple(sorted({*terms, *((place,) for place in range(len(NAMES)))})))
    population = ValidPopulation.of(SPACE, 1)
    for seed in range(number):
        rng = generator(seed, "fit")
        runs = rng.integers(0, len(rows), RUNS)
        values: FloatArray = truth[runs] + NOISE * rng.standard_normal(RUNS)
        columns = model_terms(model, rows[runs], np.zeros(RUNS, dtype=np.intp))
        yield ModelFit.of(columns, model.terms, population, values)


def of_fits(number: int) -> Held:
    """The same of fits: of each option, of each at each setting of another, and of an interaction."""
    held: Held = defaultdict(list)
    places = range(len(NAMES))
    ats: list[Mapping[int, int]] = [{other: setting} for other in places for setting in (0, 1)]
    asked = [(option, at) for option in places for at in ({}, *ats) if option not in at and not excluded(option, at)]
    truths = [float(np.log1p(change(NAMES[option], named(at), EffectScale.LOG))) for option, at in asked]
    size = 2.0 * COEFFICIENTS["independent", "rsyncable"]
    for fit in fits(number):
        for (option, at), truth in zip(asked, truths, strict=True):
            found = fit.change(option, at)
            if found is not None:
                record(held["option at a setting" if at else "option"], found.contrast.interval, truth)
        record(held["interaction"], fit.effect((1, 2)).interval, size)
    return held


def named(at: Mapping[int, int]) -> dict[str, bool]:
    """Settings by the names of their options."""
    return {NAMES[other]: bool(setting) for other, setting in at.items()}


def excluded(option: int, at: Mapping[int, int]) -> bool:
    """Whether no configuration with these settings is valid with both settings of an option."""
    pairs = ([{**each, NAMES[option]: end} for end in (False, True)] for each in enumerate_configurations(SPACE))
    return not any(all(named(at).items() <= each.items() and SPACE.valid(each) for each in pair) for pair in pairs)


def near(rate: float, count: int) -> bool:
    """Whether a rate is 93 to 97 %, or its 95 % limits over studies, whose intervals are correlated, reach that."""
    low, high = stats.binomtest(round(rate * count), count).proportion_ci()
    return bool(low <= 0.97 and high >= 0.93)


def result(studies: int = STUDIES, number: int = FITS) -> tuple[str, bool]:
    """The table, and whether all fractions are 93 to 97 %, or their 95 % limits over studies reach these."""
    rows, good = [], True
    for name, count, held in (("fits", number, of_fits(number)), ("studies", studies, of_studies(studies))):
        for kind in filter(held.get, KINDS):
            rate = float(np.mean(held[kind]))
            good = good and near(rate, count)
            rows.append((f"{count:,} {name}", kind, f"{len(held[kind]):,}", f"{100 * rate:.1f} %"))
    title = "95 % intervals where constraints tie options"
    return table(title, ("simulated", "effect of", "intervals", "hold the exact change"), rows), good


if __name__ == "__main__":
    text, good = result()
    print(text)
    sys.exit(0 if good else 1)
