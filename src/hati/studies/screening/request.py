"""The request of ``hati screen``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from hati.core import (
    BenchmarkName,
    FlagField,
    InputError,
    MetricName,
    Relevant,
    Seed,
    TableFields,
    Templates,
    budget,
    level,
    share,
)

if TYPE_CHECKING:
    from hati.studies.recommendation import KeepRule


USUAL_BUDGET = "2m"


class ScreeningRequest(TableFields, frozen=True, kw_only=True):
    """Find the options that matter, by a designed experiment."""

    metric: MetricName = None
    benchmark: BenchmarkName = None
    budget: Annotated[str | None, budget("5m", f"{USUAL_BUDGET}; required for a table")] = None
    relevant: Relevant = 0.01
    detect: Annotated[
        float | None, share("Cheapest design that finds effects of this size, such as 3%, with 90 % power.")
    ] = None
    resolution: Annotated[int | None, FlagField("Use the smallest regular fraction of this resolution.", least=3)] = (
        None
    )
    runs: Annotated[int | None, FlagField("Use the regular fraction with this number of runs.", least=2)] = None
    design: Annotated[
        str | None,
        FlagField("Use this regular fraction: CSV, JSON, or generators.", metavar="FILE|F=ABC,.."),
    ] = None
    alpha: Annotated[float, level("over all effects of the study")] = 0.05
    recommend: Annotated[bool, FlagField("Recommend settings from the last screening, confirmed by fresh runs.")] = (
        False
    )
    keep: Annotated[
        tuple[str, ...],
        FlagField(
            "Recommend only settings that are shown to keep this bound; repeatable.",
            metavar="'METRIC <= X * default'",
        ),
    ] = ()
    recalibrate: Annotated[bool, FlagField("Repeat the last screening with fresh runs, and report what changed.")] = (
        False
    )
    template: Templates = ()
    seed: Seed = 1

    def __post_init__(self) -> None:
        if self.keep and not self.recommend:
            raise InputError("--keep is a rule for recommendations", fix="add --recommend, or leave --keep out")
        if self.detect is not None and self.of_fraction:
            raise InputError("--detect chooses the design", fix="leave out --resolution, --runs and --design")
        if not self.alpha:
            raise InputError("--alpha 0 is not between 0 and 1", fix="write a probability such as 5%")

    @property
    def of_fraction(self) -> bool:
        """Whether the request names the fraction to run."""
        return (self.resolution, self.runs, self.design) != (None, None, None)

    @property
    def limit(self) -> str:
        """The budget, pilot runs included."""
        return self.budget or USUAL_BUDGET

    @property
    def rules(self) -> tuple[KeepRule, ...]:
        """The bounds on recommendations.

        Raises:
            InputError: for a text without a bound.
        """
        from hati.studies.recommendation import parse_keep

        return tuple(map(parse_keep, self.keep))
