"""How well given runs fit a model: its efficiency, its standard errors, and what they cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.core.wording import listed
from hati.design.basis import independent
from hati.design.coding import Levels, Model
from hati.stats import Index

_MOST_NAMED = 8


class Fit(Struct, frozen=True):
    """What runs say about ``model``.

    ``kept`` are the model's columns that the space can tell apart; ``terms`` the terms with all their columns,
    ``reduced`` those with some and ``dropped`` those with none, by names such as a and a:b. ``d_efficiency`` is
    |X'X / runs|^(1 / parameters), blocks' columns included. ``standard_errors`` are the largest of each order's
    coefficients, main effects being of order 1, in sigma: of the columns that ``setting_contrasts`` codes.
    """

    model: Model
    kept: Index
    terms: tuple[str, ...]
    reduced: tuple[str, ...]
    dropped: tuple[str, ...]
    d_efficiency: float
    standard_errors: Mapping[int, float]

    @property
    def largest_standard_error(self) -> float:
        """The largest of all coefficients but the intercept's, in sigma."""
        return max(self.standard_errors.values(), default=0.0)

    @property
    def parameters(self) -> int:
        """How many coefficients are estimated, the intercept included and blocks' left out."""
        return len(self.kept)


def fit(levels: Levels, model: Model, names: Sequence[str], blocks: FloatArray, kept: Index) -> Fit:
    """What those runs say about the ``kept`` columns of a model; ``blocks`` has shape (runs, blocks - 1).

    Raises:
        InputError: where the runs cannot fit the model, naming the terms that are combinations of those before them.
    """
    rows = np.hstack([blocks, model.matrix(levels)[:, kept]])
    gram = rows.T @ rows / len(rows)
    _check(gram, model, names, kept, blocks.shape[1], len(rows))
    inverse = np.linalg.inv(gram)
    errors = np.sqrt(np.diag(inverse)[blocks.shape[1] :] / len(rows))
    owners = model.owners[kept]
    orders = np.array([0 if owner < 0 else len(model.terms[owner]) for owner in owners])
    all_columns = np.bincount(model.owners[1:], minlength=len(model.terms))
    there = np.bincount(owners[owners >= 0], minlength=len(model.terms))
    return Fit(
        model,
        kept,
        _named(model, names, np.flatnonzero((there == all_columns) & (there > 0))),
        _named(model, names, np.flatnonzero((there < all_columns) & (there > 0))),
        _named(model, names, np.flatnonzero(there == 0)),
        float(np.exp(np.linalg.slogdet(gram)[1] / len(gram))),
        {int(order): float(errors[orders == order].max()) for order in np.unique(orders) if order},
    )


def fitted(levels: Levels, model: Model, names: Sequence[str]) -> Fit:
    """What those runs say about all columns of a model, in one block.

    Raises:
        InputError: as ``fit``.
    """
    return fit(levels, model, names, np.empty((len(levels), 0)), np.arange(model.parameters))


def _check(gram: FloatArray, model: Model, names: Sequence[str], kept: Index, blocks: int, runs: int) -> None:
    found = independent(gram)
    lost = sorted(set(range(len(gram))) - set(found.tolist()))
    if not lost:
        return
    owners = dict.fromkeys(model.owners[kept[column - blocks]] for column in lost if column >= blocks)
    terms = _named(model, names, [owner for owner in owners if owner >= 0]) or ("the blocks",)
    raise InputError(
        f"{runs} runs cannot fit the {len(gram)} parameters of this model; not distinguished from earlier terms: "
        f"{listed(terms, _MOST_NAMED)}",
        fix=f"use at least {len(gram)} runs, a lower order, or the criterion bayes",
    )


def _named(model: Model, names: Sequence[str], terms: Sequence[int] | Index) -> tuple[str, ...]:
    return tuple(":".join(names[option] for option in model.terms[term]) for term in terms)
