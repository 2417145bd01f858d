"""The RES paper's screening designs, each with all or many of the fractions by the signs of its generators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from zlib import crc32

import numpy as np
from examples.study.effects import Effects
from examples.study.systems import LETTERS, System

from hati.campaign import campaign
from hati.core import Budget, generator
from hati.design import from_generators, resolution
from hati.engine import TableEngine
from hati.studies.screening import Choice, ScreeningConclusion, screening, study_id
from hati.testing import MemoryStore
from hati.wiring import Workplace

DESIGNS = {
    "Scr32": "F=ABC G=ABD H=ACD I=BCD J=ABE K=ACE L=BCE M=ADE N=BDE",
    "Scr64": "G=ABC H=ABD I=ABE J=ACDE K=ABF L=ACDF M=ACEF N=ADEF",
    "Scr128": "H=ABC I=ABDE J=ABDF K=ACEF L=ACDG M=ABEFG N=BCDEFG",
}
"""From the RES paper's appendix; the last with M = ABEFG, as the printed design (M = ABDFG) has resolution III."""

PRINTED = "H=ABC I=ABDE J=ABDF K=ACEF L=ACDG M=ABDFG N=BCDEFG"
LARGEST = 2


@dataclass(frozen=True, eq=False)
class Screened:
    """The conclusion from the RES paper's fraction, and how often the fractions of its family are right.

    The rates are parts of ``fractions``: ``found`` those that call an option important, for each option that is so in
    full data, the largest first; ``largest`` those that call the two largest important; ``exact`` those that name
    exactly the important options; ``false`` those that name any other; ``ranked`` those whose largest main effects, as
    many as are important, are the important ones: the best that judging a plot by eye can give.
    """

    name: str
    runs: int
    resolution: int | None
    conclusion: ScreeningConclusion
    fractions: int
    found: tuple[float, ...]
    largest: float
    exact: float
    false: float
    ranked: float
    detectable: float


def screened(system: System, name: str, full: Effects, most: int) -> Screened:
    """Screen by the RES paper's fraction, and by others of its family at random, up to ``most`` in all."""
    generators = DESIGNS[name].split()
    conclusion = screen(system, generators, system.place)
    truth = [system.names[option] for option in full.options]
    signs = [s for s in product("+-", repeat=len(generators)) if "-" in s]
    chosen = generator(1, "fractions", name).permutation(len(signs))[: most - 1]
    others = [_signed(generators, signs[int(place)]) for place in chosen]
    conclusions = [conclusion, *(screen(system, other) for other in others)]
    named = [{*found.important, *found.important_or_aliased} for found in conclusions]
    limits = [found.detectable.relative for found in conclusions if found.detectable is not None]
    design = from_generators(LETTERS, generators)
    return Screened(
        name=name,
        runs=design.runs,
        resolution=resolution(design),
        conclusion=conclusion,
        fractions=len(named),
        found=tuple(float(np.mean([option in found for found in named])) for option in truth),
        largest=float(np.mean([found >= set(truth[:LARGEST]) for found in named])),
        exact=float(np.mean([found == set(truth) for found in named])),
        false=float(np.mean([bool(found - set(truth)) for found in named])),
        ranked=float(np.mean([set(_leading(found, len(truth))) == set(truth) for found in conclusions])),
        detectable=float(np.median(limits)),
    )


def screen(system: System, generators: Sequence[str], place: Workplace | None = None) -> ScreeningConclusion:
    """Screen the system by a fraction; its runs are kept in the store of ``place``, if given."""
    design = from_generators(LETTERS, generators)
    choice = Choice(len(LETTERS), design.runs, 1, resolution(design), tuple(generators), "the seed's design")
    own, benchmark = system.place, system.benchmark
    study = study_id(
        subject=own.project.name,
        revision=own.revision,
        benchmark=benchmark,
        space=own.project.space,
        budget=str(design.runs),
        seed=crc32(" ".join(generators).encode()),  # designs of equally many runs are studies of their own
        machine=own.machine.fingerprint,
    )
    made = screening(
        study=study,
        subject=own.project.name,
        benchmark=benchmark,
        metric=system.metric,
        revision=own.revision,
        space=own.project.space,
        choice=choice,
    )
    assert own.table is not None
    engine = TableEngine(own.table, own.machine)
    if place is None:
        return campaign(made, engine, MemoryStore(), Budget())
    place.store.begin(study, benchmark.metrics, own.machine)
    place.store.keep_choice(study, choice.to_json())
    return campaign(made, engine, place.store, Budget())


def _leading(found: ScreeningConclusion, number: int) -> list[str]:
    """The options with the largest main effects."""
    return [effect.options[0] for effect in found.effects if len(effect.options) == 1][:number]


def _signed(generators: Sequence[str], signs: Sequence[str]) -> tuple[str, ...]:
    return tuple(text.replace("=", "=-") if sign == "-" else text for text, sign in zip(generators, signs, strict=True))
