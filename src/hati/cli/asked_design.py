"""The design and the error rate that a user of ``hati screen`` asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hati.cli.design import read_design
from hati.core import InputError

MOST_LETTERS = 52


def asked_design(text: str | None, options: Sequence[str]) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
    """The rows of a file of a design, columns in the order of the options, or the generators that a text names.

    A file's factors are the options by their names; where none of them is an option, by their order.

    Raises:
        InputError: for a file that is not a design, or whose factors are not the options.
    """
    from hati.design import letters, parse_generators
    from hati.design.names import symbols

    if text is None:
        return (), ()
    if "=" in text and not Path(text).exists():
        own = symbols(options)  # as `hati design` names them: their names where these are single characters
        letter = dict(zip(own, letters(len(own)), strict=True)) if len(own) <= MOST_LETTERS else {}
        known = set(own) >= {sign for sign in text if sign.isalpha()}
        return (), parse_generators("".join(letter.get(sign, sign) for sign in text) if known else text)
    design = read_design(Path(text))
    if set(design.factors) == set(options):
        places = [design.factors.index(name) for name in options]
    elif len(design.factors) == len(options) and not set(design.factors) & set(options):
        places = list(range(len(options)))
    else:
        raise InputError(
            f"the factors of {text} are not the {len(options)} options of the space",
            fix=f"name its columns: {', '.join(options)}",
        )
    return tuple(tuple(row) for row in design.matrix[:, places].tolist()), ()


def parse_level(alpha: float) -> float:
    """An error rate.

    Raises:
        InputError: where it is not between 0 and 1.
    """
    if not 0.0 < alpha < 1.0:
        raise InputError(f"--alpha {alpha:g} is not between 0 and 1", fix="write a probability such as 0.05")
    return alpha
