"""Predictions of a design before it is run: the effects that it will find, and those that it cannot distinguish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Struct

from hati.core.wording import counted, effect_name, listed
from hati.document.document import percent, roman
from hati.document.publishing import Of
from hati.stats import contrasts
from hati.studies.screening import ALPHA, AnyChoice, ModelChoice, Outlook, expected_detectable_deviations


def promise(choice: AnyChoice, found: float | None, source: str, alpha: float = ALPHA) -> str:
    """The promise for the smallest effect expected to be found, a fraction; ``source`` is where the variation is from.

    Without such an effect it is in standard deviations.
    """
    if found is None:
        return promise_in_deviations(choice, alpha)
    return f"it will find effects of about {percent(found, 2)} with 80 % power, as far as {source}"


def least_promise(least: float, pilots: int, check: int) -> str:
    """The promise where interactions are unknown: ``least``, a fraction, will be found if options do not interact."""
    return (
        f"it will find effects of about {percent(least, 2)} with 80 % power if options do not interact: "
        f"{pilots:,} pilot runs do not show whether they do; {check:,} runs of the design will"
    )


def vague_promise(least: float, most: float, pilots: int, check: int) -> str:
    """The promise of a range of fractions: ``least`` if options do not interact, ``most`` if interactions dominate."""
    return (
        f"it will find effects of {percent(least, 2)} (if options do not interact) to {percent(most, 2)} with 80 % "
        f"power: {pilots:,} pilot runs do not show which; {check:,} runs of the design will"
    )


def corrected_promise(found: Outlook, before: float | None) -> str:
    """The promise by a screening's own runs, if it promised something else or nothing before; else empty."""
    runs = f"after {found.runs:,} of {found.planned:,} runs"
    size = f"effects of about {percent(found.detectable, 2)} with 80 % power"
    varies = f"configurations vary by {percent(found.deviation, 2)} about the effects found so far"
    if before is None:
        return f"{runs}: it will find {size}; {varies}"
    if found.misses(before):
        return f"{runs}: it may miss effects of {percent(before, 2)}; it will find {size}; {varies}"
    if found.surpasses(before):
        return f"{runs}: it will find {size}, not only of {percent(before, 2)}"
    return ""


def promise_in_deviations(choice: AnyChoice, alpha: float = ALPHA) -> str:
    """The promise in standard deviations, for noise that is not known yet."""
    found = expected_detectable_deviations(choice, alpha=alpha)
    if found is None:
        return "too few runs to distinguish effects from noise: none will be called important"
    size = f"{found:.2g}"
    unit = "standard deviation" if size == "1" else "standard deviations"
    return f"it will find effects of {size} {unit} of a run with 80 % power"


_NAMED = 6
_PAIR = 2

Options = tuple[str, ...]


class Consequences(Struct, frozen=True):
    """The consequences of a design.

    ``resolution`` is None for a full factorial and for optimal designs. ``main_effects`` has each option whose main
    effect shares its estimate with interactions of two options, and these interactions. ``interactions`` has the sets
    of such interactions that share an estimate. Only optimal designs have the efficiency and the largest standard error
    (in standard deviations of a run).
    """

    kind: str
    configurations: int
    repetitions: int
    resolution: int | None
    main_effects: tuple[tuple[Options, tuple[Options, ...]], ...] = ()
    interactions: tuple[tuple[Options, ...], ...] = ()
    d_efficiency: float | None = None
    largest_standard_error: float | None = None
    replicated: int = 0

    def sentences(self) -> tuple[str, ...]:
        """The consequences in a few sentences."""
        if self.d_efficiency is not None:
            return (
                f"{self.kind}: D-efficiency {self.d_efficiency:.3f} for main effects; largest standard error of a main "
                f"effect's coefficient {self.largest_standard_error:.2g} standard deviations of a run.",
            )
        if self.resolution is None:
            return ("Full factorial: no effect shares its estimate with another.",)
        return (
            f"Resolution {roman(self.resolution)}.",
            _listed(
                "Main effects that share their estimates with interactions of two options",
                [f"{effect_name(name)} = {_some(pairs)}" for name, pairs in self.main_effects],
            ),
            _listed("Interactions of two options that share one estimate", [_some(g) for g in self.interactions]),
        )


class ConsequencesJson(Struct, frozen=True):
    """What follows from a design; an efficiency and standard errors are of optimal ones."""

    kind: str
    runs: Annotated[int, Of(lambda of: of.configurations * of.repetitions + of.replicated)]
    configurations: int
    repetitions: int
    replicated: int
    resolution: int | None
    aliased_main_effects: Annotated[
        dict[str, list[list[str]]], Of(lambda of: {n[0]: pairs for n, pairs in of.main_effects})
    ]
    aliased_interactions: Annotated[list[list[list[str]]], Of("interactions")]
    d_efficiency: float | None
    largest_standard_error: float | None


def consequences(choice: AnyChoice, names: Sequence[str]) -> Consequences:
    """The consequences of a design for those options."""
    if isinstance(choice, ModelChoice):
        return Consequences(
            kind=choice.kind,
            configurations=choice.configurations,
            repetitions=choice.repetitions,
            replicated=choice.replicated,
            resolution=None,
            d_efficiency=choice.d_efficiency,
            largest_standard_error=choice.standard_error / float(np.sqrt(choice.repetitions)),
        )
    design = choice.design(names)
    found = contrasts(np.asarray(design.matrix, dtype=np.int8))
    mains, groups = [], []
    for term, aliases in zip(found.terms, found.aliases, strict=True):
        members = [tuple(names[i] for i in one) for one in (term, *aliases) if len(one) <= _PAIR]
        if len(term) == 1 and len(members) > 1:
            mains.append((members[0], tuple(members[1:])))
        elif len(members) > 1:
            groups.append(tuple(members))
    return Consequences(
        kind=design.kind,
        configurations=choice.configurations,
        repetitions=choice.repetitions,
        resolution=choice.resolution,
        main_effects=tuple(mains),
        interactions=tuple(groups),
    )


def _listed(what: str, found: Sequence[str]) -> str:
    return f"{what}: {listed(found, _NAMED, '; ') or 'none'}."


def _some(pairs: Sequence[Options]) -> str:
    more = f" = {len(pairs) - _NAMED:,} more" if len(pairs) > _NAMED else ""
    return " = ".join(map(effect_name, pairs[:_NAMED])) + more


def runs_after_design(choice: AnyChoice) -> tuple[str, ...]:
    """The numbers of flips and repeats of suspect runs that may follow, in a sentence; none if neither can."""
    if isinstance(choice, ModelChoice) and choice.follow_up:
        repeats = [(choice.again, "suspect runs"), (choice.flips_held_back, "suspect flips")]
        listed = " and ".join(f"up to {number} for repeats of {what}" for number, what in repeats if number)
        within = f", of which {listed}" if listed else ""
        return (f"After the design: up to {counted(choice.follow_up, 'run')} of flips{within}.",)
    if isinstance(choice, ModelChoice) and choice.held_back:
        held_back = counted(choice.held_back, "run")
        return (f"The last {held_back} of the design are replaced by repeats where a run is suspect.",)
    if choice.again:
        return (f"After the design: up to {counted(choice.again, 'repeat')} of suspect runs.",)
    return ()
