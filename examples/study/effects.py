"""Effects from full data and from fractions of it, on logarithms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from examples.study.systems import LETTERS, System

from hati.core import FloatArray
from hati.design import Design, by_runs, from_generators, resolution
from hati.stats import Signs, Term, contrasts, half_normal, holm, step_critical, t_two_sided
from hati.studies.screening import ALPHA, RELEVANT, EffectScale, EffectVerdict
from hati.studies.screening.figures import EffectFigure, EffectPoint

SEED_2048 = ("L=ABCDEFGHIJK", "M=EFGHIJK", "N=CDGHIJK")
"""The RES paper's fraction for pairs of options (its appendix)."""

MARGIN = float(np.log1p(RELEVANT))
TOP = 5


@dataclass(frozen=True, eq=False)
class Effects:
    """Main effects and two-factor interactions of a design, as differences of logarithms (second setting minus first).

    ``error`` is their standard error, by the residuals of the model with all of them; ``important`` ones are
    significant at 5 % (Holm, all together) and larger than 1 %.
    """

    terms: tuple[Term, ...]
    sizes: FloatArray
    error: float
    df: int

    @cached_property
    def important(self) -> frozenset[Term]:
        """The terms that matter."""
        significant = holm(t_two_sided(np.abs(self.sizes) / self.error, self.df)) <= ALPHA
        return frozenset(
            t for t, s, p in zip(self.terms, self.sizes, significant, strict=True) if p and abs(s) > MARGIN
        )

    @property
    def options(self) -> tuple[int, ...]:
        """The options whose main effect is important, the largest first."""
        return tuple(term[0] for term in self.ranked(1) if term in self.important)

    @cached_property
    def by_term(self) -> dict[Term, float]:
        """Each term's size."""
        return dict(zip(self.terms, self.sizes.tolist(), strict=True))

    def ranked(self, order: int) -> tuple[Term, ...]:
        """The terms of an order, the largest first."""
        return tuple(sorted((t for t in self.terms if len(t) == order), key=lambda term: -abs(self.by_term[term])))

    def figure(self, names: tuple[str, ...], metric: str, order: int) -> EffectFigure:
        """The half-normal plot of the terms of an order (RES paper, equation 4)."""
        ranked = self.ranked(order)
        places = half_normal(np.array([self.by_term[term] for term in ranked]))
        points = tuple(
            EffectPoint(
                " x ".join(names[option] for option in term),
                float(place),
                abs(self.by_term[term]),
                float(np.expm1(self.by_term[term])),
                term in self.important,
                EffectVerdict.IMPORTANT if term in self.important else EffectVerdict.NOT_SHOWN,
            )
            for term, place in zip(ranked, places, strict=True)
        )
        threshold = step_critical(ALPHA, len(self.terms), self.df) * self.error
        return EffectFigure(metric, EffectScale.LOG, "", points, threshold, 0)


def effects(signs: Signs, logs: FloatArray) -> Effects:
    """The effects of a full factorial or a fraction of resolution V or more; ``signs`` has shape (runs, options)."""
    found = contrasts(signs)
    kept = [place for place, term in enumerate(found.terms) if len(term) <= 2]
    runs = len(logs)
    sizes = 2.0 / runs * (found.columns[:, kept].astype(np.float64).T @ logs)
    left = float(np.sum((logs - logs.mean()) ** 2) - runs / 4.0 * np.sum(sizes**2))
    df = runs - 1 - len(kept)
    return Effects(tuple(found.terms[place] for place in kept), sizes, float(np.sqrt(4.0 / runs * left / df)), df)


def all_signs(options: int) -> Signs:
    """Every configuration in standard order."""
    numbers = np.arange(2**options)[:, None]
    return ((numbers >> np.arange(options) & 1) * 2 - 1).astype(np.int8)


def spectrum(logs: FloatArray) -> FloatArray:
    """All effects of full data in standard order: bit i of an effect's number is set if option i is part of it.

    The fast Walsh-Hadamard transform; the mean is first.
    """
    found = logs.copy()
    for option in range(len(logs).bit_length() - 1):
        pairs = found.reshape(-1, 2, 2**option)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 1] - pairs[:, 0]], axis=1).ravel()
    return found * 2.0 / len(logs)


def pair_designs() -> dict[str, Design]:
    """The RES paper's fraction for pairs, and fractions of minimum aberration of up to the same size."""
    return {"the seed's": from_generators(LETTERS, SEED_2048)} | {
        "minimum aberration": by_runs(LETTERS, 2048),
        "minimum aberration, 1,024": by_runs(LETTERS, 1024),
        "minimum aberration, 512": by_runs(LETTERS, 512),
        "minimum aberration, 256": by_runs(LETTERS, 256),
    }


def pairs_found(system: System, full: Effects) -> list[dict[str, object]]:
    """For each design for pairs, the agreement of its largest pairs with those of full data."""
    best = set(full.ranked(2)[:TOP])
    rows: list[dict[str, object]] = []
    for name, design in pair_designs().items():
        found = effects(design.matrix, system.of(design.matrix))
        gaps = [found.by_term[term] - full.by_term[term] for term in full.ranked(2)]
        rows.append(
            {
                "design": name.partition(",")[0],
                "runs": design.runs,
                "resolution": resolution(design),
                "error": found.error,
                "top": len(best & set(found.ranked(2)[:TOP])),
                "important": len(full.important & found.important & set(full.ranked(2))),
                "false": len((found.important - full.important) & set(full.ranked(2))),
                "largest_gap": float(np.max(np.abs(gaps))),
            }
        )
    return rows
