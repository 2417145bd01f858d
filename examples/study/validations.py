"""The assumptions behind a screening: a check by full data, and the cost and results of Hati's validations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from examples.study.effects import MARGIN, Effects, spectrum
from examples.study.screenings import DESIGNS
from examples.study.systems import LETTERS, System

from hati.core import InputError
from hati.design import Design, Levels, aliases, entangled, from_generators, runs_needed
from hati.stats import holm, t_two_sided
from hati.studies.screening import ALPHA, ScreeningConclusion
from hati.studies.validation import Mode, ValidationConclusion
from hati.wiring import prepare_validation
from hati.wiring.kinds.validation import ValidationRequest

SEED_IMPORTANT = "BJCFI"
"""The options that the RES paper calls important."""

Request = tuple[Mode, int, int]
"""A mode, an order and a budget."""

REQUESTS: tuple[Request, ...] = (
    (Mode.DISCRIMINATE, 2, 16),
    (Mode.DEALIAS, 3, 32),
    (Mode.DEALIAS, 3, 64),
    (Mode.CHECK, 3, 381),
)
"""The cheap way; the RES paper's de-aliasing to third order, with half and with all of its runs; and its check."""


@dataclass(frozen=True)
class Costs:
    """The cost of de-aliasing the RES paper's five options in its 128 runs: all ``aliases``, and the fewest ``runs``.

    ``third`` and ``third_runs`` are the same to third order.
    """

    aliases: int
    runs: int
    third: int
    third_runs: int


def costs() -> Costs:
    """The least cost of de-aliasing; it depends on the design only (RES paper, 4.5.1)."""
    design = from_generators(LETTERS, DESIGNS["Scr128"].split())
    rows, sizes = _levels(design), (2,) * len(LETTERS)
    terms = [(LETTERS.index(letter),) for letter in SEED_IMPORTANT]
    every = entangled(rows, sizes, terms, len(LETTERS))
    third = entangled(rows, sizes, terms, 3)
    return Costs(
        len(every) - len(terms),
        runs_needed(rows, sizes, every),
        len(third) - len(terms),
        runs_needed(rows, sizes, third),
    )


def alias_ratios(system: System, options: tuple[int, ...]) -> dict[str, float]:
    """For each option, the variance that its main effect explains over that of its largest alias in 128 runs.

    In full data nothing is aliased, so that this is what a complete de-aliasing would show.
    """
    design = from_generators(LETTERS, DESIGNS["Scr128"].split())
    sizes = spectrum(system.logs)
    ratios = {}
    for option in options:
        others = aliases(design, (LETTERS[option],), len(LETTERS))
        numbers = [sum(1 << LETTERS.index(factor) for factor in alias.factors) for alias in others]
        ratios[LETTERS[option]] = float(sizes[1 << option] ** 2 / np.max(sizes[numbers] ** 2))
    return ratios


def third_order(system: System) -> list[str]:
    """The effects of three options that are important in full data: significant among their kind, and 1 %."""
    sizes = spectrum(system.logs)
    orders = np.array([int(number).bit_count() for number in range(len(sizes))])
    three = np.flatnonzero(orders == 3)
    noise = sizes[orders > 3]
    error, df = float(np.sqrt(np.mean(noise**2))), len(noise)
    significant = holm(t_two_sided(np.abs(sizes[three]) / error, df)) <= ALPHA
    found = three[significant & (np.abs(sizes[three]) > MARGIN)]
    return [_lettered(int(number)) for number in found[np.argsort(-np.abs(sizes[found]))]]


def validations(
    system: System, screened: ScreeningConclusion, full: Effects, requests: tuple[Request, ...] = REQUESTS
) -> list[dict[str, object]]:
    """The cost and conclusion of each way to validate a screening, compared with full data."""
    return [_validated(system, screened, full, *request) for request in requests]


def _validated(
    system: System, screened: ScreeningConclusion, full: Effects, mode: Mode, order: int, budget: int
) -> dict[str, object]:
    row: dict[str, object] = {"mode": mode.value, "order": order, "budget": budget}
    request = ValidationRequest(study=screened.study, mode=mode.value, order=order, budget=str(budget))
    try:
        prepared = prepare_validation(system.place, request, fresh=False)
        found = prepared.make()
    except InputError as error:
        return row | {"refused": error.message}
    truth = {tuple(sorted(_names(system, term))) for term in full.important}
    named = _important(found)
    return row | {
        "runs": found.done,
        "order_reached": found.order,
        "outcome": found.outcome.value,
        "effects": [_short(system, options) for options in named],
        "missed": [_short(system, options) for options in sorted(truth - set(named))],
        "wrong": [_short(system, options) for options in named if options not in truth],
        "assumptions": [[a.statement, a.result.value, a.detail] for a in found.assumptions],
    }


def _important(found: ValidationConclusion) -> list[tuple[str, ...]]:
    return [tuple(sorted(effect.options)) for effect in found.effects if effect.important]


def _names(system: System, term: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(system.names[option] for option in term)


def _short(system: System, options: tuple[str, ...]) -> str:
    return "".join(sorted(LETTERS[system.names.index(name)] for name in options))


def _lettered(number: int) -> str:
    return "".join(letter for place, letter in enumerate(LETTERS) if number >> place & 1)


def _levels(design: Design) -> Levels:
    return ((design.matrix + 1) // 2).astype(np.int16)
