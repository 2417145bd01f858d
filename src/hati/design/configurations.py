"""From a design's rows to configurations of a space: their order, those read from a table, and those not run yet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hati.core import Configuration, InputError, Place
from hati.core.wording import listed, suggestion
from hati.design.optimal.coding import MOST_LISTED, SAMPLED, Candidates, Levels, Reach, levels
from hati.design.two_level.matrix import Design, letters

if TYPE_CHECKING:
    from hati.space import Option, Space


_WHAT_SERVES = "use an optimal design, as of `hati design PATH --runs N --optimal bayes`"


def configurations(design: Design, space: Space) -> tuple[Configuration, ...]:
    """One configuration per row: -1 is an option's first setting, +1 its second.

    Factors are options by name; where they are the letters A, B, ... instead, by position.

    Raises:
        InputError: where factors and options do not correspond, or the space has constraints, options that
            are active under a condition, or options with other than two settings.
    """
    check_two_level(space)
    columns = _options(design, space)
    return tuple(
        space.complete({option.name: option.settings[entry > 0] for option, entry in zip(columns, row, strict=True)})
        for row in design.matrix.tolist()
    )


def check_two_level(space: Space) -> None:
    """A two-level design fits the space: two settings each, all combinations valid, none without influence.

    Raises:
        InputError: where it does not, naming all that is in the way and what will serve.
    """
    obstacles = tuple(_obstacles(space))
    if obstacles:
        raise InputError(
            f"{listed(obstacles, separator='; ')}: "
            "a two-level design needs two settings of every option, and all combinations valid",
            fix=f"leave that out of the space, or {_WHAT_SERVES}",
        )


def _obstacles(space: Space) -> Iterator[str]:
    for option in space.options:
        if len(option.settings) != 2:
            number = len(option.settings)
            yield f"option {option.name!r} has {number} setting{'' if number == 1 else 's'}"
    for option in space.options:
        if option.active_if is not None:
            yield f"option {option.name!r} has no influence in some configurations"
    if space.constraints:
        yield "the space has constraints"


def _options(design: Design, space: Space) -> list[Option]:
    """The option of every column."""
    named = {option.name: option for option in space.options}
    if named.keys() == set(design.factors):
        return [named[factor] for factor in design.factors]
    count = len(design.factors)
    if count == len(named) and count <= len(letters(52)) and design.factors == letters(count):
        return list(space.options)
    strangers = sorted(named.keys() ^ set(design.factors))
    raise InputError(
        f"the design's factors are not the space's options: {', '.join(strangers[:10])}",
        fix=f"name the factors as the options: {','.join(named)}",
    )


def run_order(configurations: int, repetitions: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A randomised order: which configuration each run measures, shape (repetitions x configurations,).

    Each repetition is a block of all configurations in a new random order, so that a drift affects all alike.

    Raises:
        InputError: for no configurations or no repetitions.
    """
    if configurations < 1 or repetitions < 1:
        raise InputError(f"{configurations} configurations x {repetitions} repetitions is nothing to run")
    return np.concatenate([rng.permutation(configurations) for _ in range(repetitions)]).astype(np.intp)


def read_runs(text: str, space: Space, file: str = "runs.csv") -> Levels:
    """The runs in a CSV text with a column for every option; other columns are left alone.

    Settings are read as by ``Space.parse``; an option without influence is empty. A configuration may come twice.

    Raises:
        InputError: with the line, for a row that is not a valid configuration, or where a column is missing.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    reader = csv.DictReader(lines, strict=True)
    try:
        header = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = header
        _check_header(header, space, Place(file, 1))
        found = [_configuration(row, space, Place(file, reader.line_num)) for row in reader]
    except csv.Error as error:
        raise InputError(f"this is not CSV: {error}", place=Place(file, reader.line_num)) from error
    if not found:
        return np.empty((0, len(space.options)), dtype=np.int16)
    return levels(found, space)


def _check_header(header: list[str], space: Space, place: Place) -> None:
    for name in space.names:
        if name not in header:
            raise InputError(
                f"there is no column for option {name!r}", place=place, fix=suggestion(name, [h for h in header if h])
            )
        if header.count(name) > 1:
            raise InputError(f"there are two columns for option {name!r}", place=place, fix="keep one")


def _configuration(row: Mapping[str, str | None], space: Space, place: Place) -> Configuration:
    texts = {name: row[name] for name in space.names}
    missing = [name for name, text in texts.items() if text is None]
    if missing:
        raise InputError(f"this row ends before column {missing[0]!r}", place=place)
    try:
        configuration = space.parse({name: text or "" for name, text in texts.items()})
    except InputError as error:
        raise InputError(error.message, place=place, fix=error.fix) from error
    if not space.valid(configuration):
        raise InputError("this configuration is not valid: it breaks a constraint", place=place, fix="drop the row")
    return configuration


def unmeasured(space: Space, measured: Levels, rng: np.random.Generator) -> Candidates:
    """The valid configurations without a run: all, or of more than 20,000 a uniform sample of 4,000.

    Args:
        space: the options.
        measured: the runs that were made, shape (runs, options).
        rng: for the sample.

    Raises:
        InputError: where the constraints are too entangled to count.
    """
    from hati.space import count, enumerate_configurations, sample

    if count(space) <= MOST_LISTED:
        reach, every = Reach.LISTED, levels(list(enumerate_configurations(space)), space)
    else:
        reach, every = Reach.SAMPLED, np.unique(levels(sample(space, SAMPLED, rng), space), axis=0)
    known = {row.tobytes() for row in measured}
    return Candidates(space, reach, every[[row.tobytes() not in known for row in every]])
