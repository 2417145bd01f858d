"""Samples as JSON text, piece by piece, so that the text of large ones is never whole in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from hati.core import Sample, SampledRun
from hati.report import FORMAT, run_head, sample_head

_PIECE = 4096
"""How many observations are written at once."""


def samples_text(samples: Sequence[Sample]) -> Iterator[str]:
    """The text of ``hati-samples-1``, a line for each run; what is not known of a run is left out."""
    yield f'{{"format": {json.dumps(FORMAT)},\n "samples": ['
    for number, sample in enumerate(samples):
        yield f'{"," if number else ""}\n  {_opened(sample_head(sample))}, "runs": ['
        for place, run in enumerate(sample.runs):
            yield f'{"," if place else ""}\n    {_opened(run_head(run))}, "observations": ['
            yield from _observations(run)
            yield "]}"
        yield "]}"
    yield "]}\n"


def _opened(value: object) -> str:
    """An object's text without its last brace."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)[:-1]


def _observations(run: SampledRun) -> Iterator[str]:
    values = run.observations.values
    for start in range(0, len(values), _PIECE):
        yield f"{', ' if start else ''}{json.dumps(values[start : start + _PIECE].tolist())[1:-1]}"
