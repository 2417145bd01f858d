"""The conclusion of a search for failing combinations."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from hati.core import Configuration, ExitStatus, requests, setting_text
from hati.studies.failure_search.outcomes import FailureTree
from hati.studies.screening.planning.isolation import Element


class CombinationVerdict(StrEnum):
    """Whether settings fail together: always, sometimes, or not yet confirmed."""

    CERTAIN = "certain"
    FLAKY = "flaky"
    UNCONFIRMED = "unconfirmed"


def parse_failing(text: str) -> frozenset[CombinationVerdict]:
    """The verdicts that end with a status above 0.

    Raises:
        InputError: for a text that is not a verdict.
    """
    return requests.parse_failing(text, {verdict.value: verdict for verdict in CombinationVerdict})


class NearMiss(Struct, frozen=True):
    """Runs of configurations that have all settings of a combination but one: ``other`` is that option's setting there.

    It is None if the option is inactive.
    """

    option: str
    other: str | None
    failed: int
    runs: int


class FailingCombination(Struct, frozen=True):
    """The fewest settings that fail together.

    ``failed`` of ``runs`` failed with all of them, in that number of ``configurations``; ``near_misses`` are the runs
    without one of them. Runs with another failing combination are left out of both. ``p_value`` is that of Fisher's
    exact one-sided test comparing the two; ``message`` is that of the first failure. ``usage`` is the fraction of uses
    with all of the settings, None if the project does not say how often settings are used.
    """

    settings: tuple[Element, ...]
    verdict: CombinationVerdict
    failed: int
    runs: int
    configurations: int
    near_misses: tuple[NearMiss, ...]
    p_value: float
    message: str
    usage: float | None = None

    @property
    def text(self) -> str:
        """The settings as text."""
        return " and ".join(f"{name}={setting_text(setting) or repr('')}" for name, setting in self.settings)

    @property
    def near_runs(self) -> int:
        """The number of runs without one of the settings."""
        return sum(each.runs for each in self.near_misses)

    @property
    def near_failed(self) -> int:
        """The number of failed runs without one of the settings."""
        return sum(each.failed for each in self.near_misses)


class UntracedFailure(Struct, frozen=True):
    """A configuration that failed without a failing combination; ``reason`` says why it was not traced to one."""

    configuration: Configuration
    failed: int
    runs: int
    message: str
    reason: str


class PassingCoverage(Struct, frozen=True):
    """The number of ``valid`` combinations of the settings of ``strength`` options that were seen ``passing``.

    ``excluded`` counts those that occur only together with a failing combination; the rest was not seen.
    """

    strength: int
    valid: int
    passing: int
    excluded: int

    @property
    def share(self) -> float:
        """The fraction that was seen passing."""
        return self.passing / self.valid if self.valid else 1.0

    @property
    def unseen(self) -> int:
        """The number of combinations that neither passed nor are excluded."""
        return max(0, self.valid - self.passing - self.excluded)


class FailureConclusion(Struct, frozen=True):
    """The failing combinations, and the part of the space that was seen passing.

    ``passed`` and ``failed`` count runs of configurations; ``infrastructure`` counts runs that could not be started,
    which say nothing about a configuration. ``complete`` is true if the search had all runs that it needs. ``tree`` is
    a classification tree of the same runs, None if none was grown.
    """

    study: str
    benchmark: str
    revision: str
    combinations: tuple[FailingCombination, ...]
    untraced: tuple[UntracedFailure, ...]
    coverage: PassingCoverage
    passed: int
    failed: int
    infrastructure: int
    configurations: int
    complete: bool
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...] = ()
    tree: FailureTree | None = None

    def status(self, failing: frozenset[CombinationVerdict]) -> ExitStatus:
        """The exit status of a command that fails on these verdicts.

        Failures that were not traced, and a search that had too few runs to finish, count as unconfirmed.
        """
        verdicts = {each.verdict for each in self.combinations}
        if failing & verdicts - {CombinationVerdict.UNCONFIRMED}:
            return ExitStatus.WORSE
        undecided = CombinationVerdict.UNCONFIRMED in verdicts or self.untraced or not self.complete
        return ExitStatus.UNDECIDED if CombinationVerdict.UNCONFIRMED in failing and undecided else ExitStatus.OK
