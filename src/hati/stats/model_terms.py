"""The terms of a linear model, each with its columns on the runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray, InputError
from hati.stats.contrasts import Term
from hati.stats.projection import spanned


@dataclass(frozen=True, eq=False)
class ModelTerms:
    """Terms and their columns on the runs, main effects before interactions.

    ``columns[term]`` has shape (runs, parameters of the term). ``always``, shape (runs, any), is in every model: the
    intercept, or the means of blocks.

    Raises:
        InputError: where columns are of different lengths.
    """

    always: FloatArray
    columns: Mapping[Term, FloatArray]

    def __post_init__(self) -> None:
        if any(len(columns) != len(self.always) for columns in self.columns.values()):
            raise InputError("the terms of a model have columns of different lengths")

    def __iter__(self) -> Iterator[Term]:
        return iter(self.columns)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.always)

    @property
    def main_effects(self) -> tuple[Term, ...]:
        """The terms of one option."""
        return tuple(term for term in self.columns if len(term) == 1)

    @property
    def interactions(self) -> tuple[Term, ...]:
        """The terms of several options."""
        return tuple(term for term in self.columns if len(term) > 1)

    def basis(self, terms: Iterable[Term]) -> FloatArray:
        """An orthonormal basis of what is always there and those terms, shape (runs, rank)."""
        return spanned(np.hstack([self.always, *(self.columns[term] for term in terms)]))


def parents(term: Term) -> tuple[Term, ...]:
    """The terms that are a term without one of its options."""
    return tuple(term[:i] + term[i + 1 :] for i in range(len(term))) if len(term) > 1 else ()
