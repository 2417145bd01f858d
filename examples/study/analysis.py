"""All results of the study for one system: numbers as plain values, and figures."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
from examples.study.effects import TOP, Effects, all_signs, effects, pairs_found
from examples.study.figures import BOXES, box_figure, effect_figures, quantile_figure
from examples.study.measuring import origin_file
from examples.study.screenings import DESIGNS, PRINTED, Screened, screen, screened
from examples.study.suites import SIZES, by_tool, compared, random_samples
from examples.study.systems import LETTERS, Source, System, system
from examples.study.validations import REQUESTS, Request, alias_ratios, third_order, validations
from msgspec.structs import asdict

from hati.studies.screening import ScreeningConclusion
from hati.studies.suite import SuiteConclusion

Plain = dict[str, object]


@dataclass(frozen=True)
class Effort:
    """The numbers of fractions of a family, of suites and of random samples, and the validations."""

    fractions: int = 200
    suites: int = 200
    random: int = 1000
    validations: tuple[Request, ...] = REQUESTS


def analysed(source: Source, effort: Effort) -> tuple[Plain, dict[str, str]]:
    """The results and the figures, by name, of one system.

    Raises:
        InputError: if its table is not complete.
    """
    of = system(source)
    full = effects(all_signs(len(LETTERS)), of.logs)
    fractions = [screened(of, name, full, effort.fractions) for name in DESIGNS]
    last = fractions[-1].conclusion
    drawings = effect_figures(of, full, fractions)
    sizes: list[Plain] = []
    for size in SIZES:
        conclusion, figure = by_tool(of, last.ranking, size)
        sizes.append(compared(of, last.ranking, size, effort.suites, effort.random) | {"tool": _told(conclusion)})
        samples = random_samples(of, size.runs, BOXES)
        drawings[f"quantiles-{size.runs}"] = quantile_figure(figure)
        drawings[f"boxes-{size.runs}"] = box_figure(of, figure, samples)
    results: Plain = {
        "title": source.title,
        "origin": _origin(source),
        "metric": of.metric.name,
        "unit": of.metric.unit,
        "effort": {"suites": effort.suites, "random": effort.random},
        "configurations": len(of.logs),
        "options": dict(zip(LETTERS, of.names, strict=True)),
        "values": dict(zip(("lowest", "median", "highest"), np.quantile(of.values, [0, 0.5, 1]).tolist(), strict=True)),
        "full": _full(of, full),
        "fractions": [_fraction(of, found, full) for found in fractions],
        "printed": _printed(of),
        "pairs": pairs_found(of, full),
        "aliases": alias_ratios(of, full.options),
        "third_order": third_order(of),
        "validations": validations(of, last, full, effort.validations),
        "suites": sizes,
    }
    return results, drawings


def _origin(source: Source) -> Plain | str:
    file = origin_file(source.table)
    found: Plain | str = json.loads(file.read_text()) if file.exists() else source.origin
    return found


def _full(of: System, full: Effects) -> Plain:
    pairs = [term for term in full.ranked(2) if term in full.important]
    return {
        "error": full.error,
        "noise": full.error * np.sqrt(len(of.logs)) / 2.0,
        "main": [[LETTERS[term[0]], of.names[term[0]], full.by_term[term]] for term in full.ranked(1)],
        "important": [LETTERS[option] for option in full.options],
        "important_pairs": [_lettered(term) for term in pairs],
        "top_pairs": [[_lettered(term), full.by_term[term]] for term in full.ranked(2)[:TOP]],
    }


def _fraction(of: System, found: Screened, full: Effects) -> Plain:
    important = [LETTERS[of.names.index(name)] for name in _named(found.conclusion)]
    named = {LETTERS[option]: share for option, share in zip(full.options, found.found, strict=True)}
    return {
        "name": found.name,
        "runs": found.runs,
        "resolution": found.resolution,
        "important": important,
        "fractions": found.fractions,
        "found": named,
        "largest": found.largest,
        "exact": found.exact,
        "false": found.false,
        "ranked": found.ranked,
        "detectable": found.detectable,
    }


def _named(conclusion: ScreeningConclusion) -> tuple[str, ...]:
    """The options that a fraction shows, in the order of their effects: it cannot distinguish them from aliases."""
    return (*conclusion.important, *conclusion.important_or_aliased)


def _printed(of: System) -> Plain:
    conclusion = screen(of, PRINTED.split())
    important = [LETTERS[of.names.index(name)] for name in _named(conclusion)]
    return {"resolution": conclusion.design.resolution, "important": important}


def _told(conclusion: SuiteConclusion) -> Plain:
    found = conclusion.against
    assert found is not None
    assert found.equivalence is not None
    return {
        "ks": found.ks,
        "range": found.range,
        "mann_whitney": asdict(found.mann_whitney),
        "equivalent": found.equivalence.equivalent,
        "provable": float(np.expm1(found.equivalence.provable)),
    }


def _lettered(term: tuple[int, ...]) -> str:
    return "".join(LETTERS[option] for option in term)
