"""All options in one order, the most influential first."""

from __future__ import annotations

from collections.abc import Sequence

from hati.stats import Term
from hati.studies.screening.analysis import Estimated


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


def likely_pairs(effect: Estimated, main: set[int]) -> list[Term]:
    """The pairs of an interaction's alias set with the most important main effects: two, one, or none.

    Effect heredity: an interaction is likely where its parents matter (Hamada and Wu 1992, Analysis of designed
    experiments with complex aliasing, Journal of Quality Technology 24(3), 130-137).
    """
    pairs: list[Term] = [term for term in (effect.term, *effect.aliases) if len(term) == 2]
    most = max(len(main & set(pair)) for pair in pairs)
    return [pair for pair in pairs if len(main & set(pair)) == most]
