"""The request of ``hati validate``."""

from __future__ import annotations

from typing import Annotated, Literal

from hati.core import FlagField, Relevant, ScreenedMetric, Seed, TableFields, Templates, budget
from hati.core.requests import parse_names


class ValidationRequest(TableFields, frozen=True, kw_only=True):
    """Test the assumptions of a screening with a few more runs."""

    study: Annotated[str | None, FlagField("Screening to validate [default: the most informative].", metavar="KEY")] = (
        None
    )
    mode: Annotated[
        Literal["confirm", "discriminate", "dealias", "check"] | None,
        FlagField(
            "What to test: predictions (confirm), rival models (discriminate), aliases of important effects "
            "(dealias), or all effects up to an order (check) [default: discriminate; "
            "confirm where no two-level fraction was run]."
        ),
    ] = None
    order: Annotated[int | None, FlagField("Highest order of effects [default: 3; discriminate: 2].", least=1)] = None
    options: Annotated[
        tuple[str, ...],
        FlagField("Estimate effects of these options only; see --mode.", metavar="A,B", parse=parse_names),
    ] = ()
    budget: Annotated[str, budget("2m", "")] = "16"
    metric: ScreenedMetric = None
    relevant: Relevant = 0.01
    template: Templates = ()
    seed: Seed = 1
