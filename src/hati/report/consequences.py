"""What a chosen design will not be able to tell apart, before it is run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core.wording import listed
from hati.report.plain import Plain
from hati.report.words import effect_name, roman
from hati.stats import contrasts
from hati.studies.screening import AnyChoice, ModelChoice

_NAMED = 6
_PAIR = 2

Options = tuple[str, ...]


class Consequences(Struct, frozen=True):
    """What follows from a design.

    ``resolution`` is None for a full factorial and for optimal designs. ``main_effects`` holds, for each option whose
    main effect shares its estimate with interactions of two, these; ``interactions`` the sets of such interactions that
    share one. The efficiency and the largest standard error (in standard deviations of a run) are of optimal designs.
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

    def to_json(self) -> dict[str, Plain]:
        """Under the names that programs rely on."""
        return {
            "kind": self.kind,
            "runs": self.configurations * self.repetitions + self.replicated,
            "configurations": self.configurations,
            "repetitions": self.repetitions,
            "replicated": self.replicated,
            "resolution": self.resolution,
            "aliased_main_effects": {name[0]: [list(pair) for pair in pairs] for name, pairs in self.main_effects},
            "aliased_interactions": [[list(pair) for pair in group] for group in self.interactions],
            "d_efficiency": self.d_efficiency,
            "largest_standard_error": self.largest_standard_error,
        }

    def sentences(self) -> tuple[str, ...]:
        """In a few lines."""
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


def consequences(choice: AnyChoice, names: Sequence[str]) -> Consequences:
    """What follows from a design for those options."""
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
