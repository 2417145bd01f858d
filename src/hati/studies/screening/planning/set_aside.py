"""Runs of a budget that are not the design's: set aside for flips, and for repeats of suspect runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hati.core import Configuration, InputError, replace
from hati.design import levels
from hati.stats import FEWEST_SUSPECTED
from hati.studies.screening.planning.fractions import Choice
from hati.studies.screening.planning.models import PARTIAL, ModelChoice
from hati.studies.screening.reruns import FRESH, runs_again

if TYPE_CHECKING:
    from hati.space import Space


_SPARE = 3
"""The runs needed in addition to one per parameter: with fewer, no main effect is tested."""


def with_reruns(choice: Choice | ModelChoice, runs: int) -> Choice | ModelChoice:
    """The choice with runs to repeat suspect ones: those of ``runs`` that the design leaves, or half with a follow-up.

    If none are left, the last runs of a design that is judged by a model are held back to repeat one suspect run; on
    clean data they are made after all, and nothing is lost. The last runs of a follow-up are held back for suspect
    flips in the same way.
    """
    spare = runs - choice.runs
    if isinstance(choice, Choice):
        return replace(choice, again=runs_again(choice.runs, spare))
    again = runs_again(choice.runs, spare // 2 if choice.follow_up else spare)
    enough = max(FEWEST_SUSPECTED, choice.parameters + _SPARE) + FRESH
    if not again and choice.repetitions == 1 and choice.runs >= enough and choice.kind != PARTIAL:
        return replace(choice, again=FRESH, held_back=FRESH)
    flips = runs_again(choice.follow_up, choice.follow_up) if choice.follow_up else 0
    return replace(choice, again=again, flips_held_back=flips)


def followed(choice: ModelChoice, aside: int) -> ModelChoice:
    """The choice with ``aside`` runs for a follow-up."""
    return replace(choice, follow_up=aside, reason=f"{choice.reason}; then up to {aside} runs to refute what is found")


def drawable(space: Space) -> int:
    """The number of valid configurations; 0 if constraints are too entangled to draw them uniformly."""
    from hati.space import count

    try:
        return count(space)
    except InputError:
        return 0


_LOOK = 16
"""The fewest runs that show whether an option dominates."""
_LOOK_PART = 4


def with_look(choice: Choice | ModelChoice, seconds: float = 0.0, limit: int = 0) -> Choice | ModelChoice:
    """The choice with an interim look after a quarter of its runs, if these suffice and half of the runs are left.

    If the whole campaign has a time of ``seconds``, more runs may be left than were planned, so that any suffice. A
    ``limit`` is that of a design that is as small as an effect to find allows.
    """
    if not isinstance(choice, ModelChoice) or choice.repetitions > 1 or choice.kind == PARTIAL:
        return choice
    look = max(_LOOK, -(-choice.runs // _LOOK_PART))
    enough = look < choice.runs - choice.held_back if seconds else 2 * look <= choice.runs
    return replace(choice, look=look, seconds=seconds, limit=limit) if enough else choice


def of_pool(choice: Choice | ModelChoice, machines: int) -> Choice | ModelChoice:
    """The choice for machines that share a design, each with an interim look at the first runs of its own.

    None of them waits for another. There is no look if a machine's runs are too few for it.
    """
    if not isinstance(choice, ModelChoice) or not choice.look or machines == 1:
        return choice
    own = (choice.runs - choice.held_back) // machines
    look = max(_LOOK, -(-own // _LOOK_PART))
    return replace(choice, look=look, machines=machines) if 2 * look <= own else replace(choice, look=0)


def with_usable(choice: Choice | ModelChoice, usable: Sequence[Configuration], space: Space) -> Choice | ModelChoice:
    """The choice with already measured configurations added to its rows; a full factorial has them anyway."""
    if not isinstance(choice, ModelChoice) or not usable:
        return choice
    known = set(choice.rows)
    rows = [tuple(row) for row in levels(usable, space).tolist()]
    more = tuple(row for row in dict.fromkeys(rows) if row not in known)
    if not more:
        return choice
    return replace(choice, rows=(*choice.rows, *more), reason=f"{choice.reason}; and {len(more)} that were run before")
