"""Important effects that may be another effect of their alias set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hati.core.wording import listed
from hati.stats import Term
from hati.studies.screening.estimated import Estimated
from hati.studies.screening.heredity import likely_pairs


def ambiguities(effects: Sequence[Estimated], names: Sequence[str]) -> Iterator[str]:
    """A sentence for each important effect that may well be another.

    By effect heredity an interaction is likely where its options matter by themselves.

    Args:
        effects: all effects of a study.
        names: the options.
    """
    main = {effect.term[0] for effect in effects if len(effect.term) == 1 and effect.important}
    for effect in effects:
        if effect.important:
            yield from (_of_main if len(effect.term) == 1 else _of_pair)(effect, main, names)


def _of_main(effect: Estimated, main: set[int], names: Sequence[str]) -> Iterator[str]:
    pairs = [term for term in effect.aliases if len(term) == 2 and main.issuperset(term)]
    if pairs:
        yield (
            f"the effect of {names[effect.term[0]]} may be the interaction {_either(pairs, names)}, whose options are "
            "important too; the design cannot tell which: a larger budget can"
        )


def _of_pair(effect: Estimated, main: set[int], names: Sequence[str]) -> Iterator[str]:
    pairs = [term for term in (effect.term, *effect.aliases) if len(term) == 2]
    triples = [term for term in effect.aliases if len(term) == 3 and main.issuperset(term)]
    if triples and not any(main.intersection(pair) for pair in pairs):
        yield (
            f"the important interaction {listed(_words(pairs, names))} is more likely {_either(triples, names)}: these "
            "options are important by themselves; the design cannot tell which: a larger budget can"
        )
    elif len(pairs) > 1:
        likely = likely_pairs(effect, main)
        guess = f", most likely {_words(likely, names)[0]}" if len(likely) == 1 else ""
        yield (
            f"an important interaction is one of {listed(_words(pairs, names))}{guess}; "
            "the design cannot tell which: a larger budget can"
        )


def _words(terms: Sequence[Term], names: Sequence[str]) -> list[str]:
    return [":".join(names[option] for option in term) for term in terms]


def _either(terms: Sequence[Term], names: Sequence[str]) -> str:
    return " or ".join(_words(terms, names))
