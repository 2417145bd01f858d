"""All options in one order, the most influential first."""

from __future__ import annotations

from collections.abc import Sequence

from hati.studies.screening.estimated import Estimated
from hati.studies.screening.heredity import likely_pairs


def rank(effects: Sequence[Estimated], names: Sequence[str]) -> tuple[str, ...]:
    """Rank options by their main effect and their important interactions; equals by name.

    An option's score is the share of variance of its main effect, plus half the share of each important interaction
    that it is in. Where an interaction's alias set holds several pairs, its share is divided equally among the
    likely ones.
    """
    main = {effect.term[0] for effect in effects if len(effect.term) == 1 and effect.important}
    scores = dict.fromkeys(range(len(names)), 0.0)
    for effect in effects:
        if len(effect.term) == 1:
            scores[effect.term[0]] += effect.share
        elif effect.important:
            pairs = likely_pairs(effect, main)
            for option in (option for pair in pairs for option in pair):
                scores[option] += effect.share / 2.0 / len(pairs)
    return tuple(names[option] for option in sorted(scores, key=lambda option: (-scores[option], names[option])))
