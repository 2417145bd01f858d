"""Machines as blocks: how far they are apart, and whether options have the same effect on each.

Effects are estimated within blocks, so that a slower machine shifts no effect (Box, Hunter and Hunter, Statistics for
Experimenters, 2005, section 4.3). That is the additive model of a block design: a machine on which an option has
another effect refutes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hati.core import FloatArray, replace
from hati.stats import ModelTerms, SumOfSquares, Term, anova, holm
from hati.studies.screening.analysis.runs import MeasuredDesign, Readable
from hati.studies.screening.conclusion import MachineBlocks, MeasuredMachine

_FEWEST = 3
"""Degrees of freedom of the residuals below which an interaction is not tested."""


def compare_machines(
    found: MeasuredDesign,
    readable: Readable,
    main_effects: Mapping[str, FloatArray],
    model: Sequence[FloatArray],
    *,
    alpha: float,
) -> MachineBlocks | None:
    """The comparison of machines; None for a single machine.

    The interaction of each option with machine is tested by F, in a model with the interactions of all options, and
    corrected by Holm's method. What configurations have in common on all machines is taken out by a column for each
    where machines share configurations, else by the model's columns.

    Args:
        found: the runs.
        readable: their values on the deciding scale.
        main_effects: of each option its columns, shape (runs, parameters).
        model: the columns of all terms of the model, each of shape (runs, parameters).
        alpha: the error over the interactions of all options.
    """
    names = sorted({run.machine for run in found.runs})
    if len(names) < 2:
        return None
    machines = found.machine_columns
    shared = len(found.values) > len(np.unique(found.rows)) and _crossed(found)
    others = [_indicators(found.rows)] if shared else [np.ones((len(found.values), 1)), *model]
    terms = ModelTerms(
        np.hstack([_indicators(found.blocks), *others]),
        {(place,): _products(columns, machines) for place, columns in enumerate(main_effects.values())},
    )
    p_values = _p_values(terms, readable.values)
    options = tuple(main_effects)
    return MachineBlocks(
        machines=_measured_machines(found, readable, names, others),
        tested=tuple(options[term[0]] for term in p_values),
        p_value=min(p_values.values(), default=None),
        differing=tuple(options[term[0]] for term, p_value in p_values.items() if p_value <= alpha),
    )


def _measured_machines(
    found: MeasuredDesign, readable: Readable, names: Sequence[str], others: Sequence[FloatArray]
) -> tuple[MeasuredMachine, ...]:
    """In the order of their first runs, with the distance from the first as a fraction of its mean.

    The distances are those of least squares, in addition to everything else.
    """
    columns = np.hstack([found.machine_columns, *others])
    solved = np.linalg.lstsq(columns, readable.values, rcond=None)[0]
    offsets = np.concatenate([[0.0], solved[: len(names) - 1]])
    ordered = sorted(range(len(names)), key=lambda place: int(found.order[found.machines == place].min()))
    first = ordered[0]
    scale = replace(readable, typical=float(np.mean(np.abs(found.values[found.machines == first]))))
    return tuple(
        MeasuredMachine(
            names[place], int(np.sum(found.machines == place)), scale.relative(float(offsets[place] - offsets[first]))
        )
        for place in ordered
    )


def _crossed(found: MeasuredDesign) -> bool:
    """Whether every configuration ran on two machines or more."""
    pairs = np.unique(np.column_stack([found.rows, found.machines]), axis=0)
    return bool(np.min(np.bincount(np.unique(pairs[:, 0], return_inverse=True)[1])) > 1)


def _indicators(groups: np.ndarray[tuple[int], np.dtype[np.intp]]) -> FloatArray:
    return np.asarray(groups[:, None] == np.unique(groups)[None, :], dtype=np.float64)


def _products(columns: FloatArray, machines: FloatArray) -> FloatArray:
    return np.hstack([columns * machines[:, [place]] for place in range(machines.shape[1])])


def _p_values(terms: ModelTerms, values: FloatArray) -> dict[Term, float]:
    """Of each interaction that the runs can estimate, corrected; none where too few degrees of freedom are left."""
    table = anova(terms, tuple(terms), values, SumOfSquares.TYPE_3)
    if table.df < _FEWEST:
        return {}
    known = {row.term: row.p_value for row in table.rows if row.p_value is not None}
    return dict(zip(known, holm(np.array(list(known.values()))).tolist(), strict=True)) if known else {}
