"""What screenings found, kept in Hati's folder: the analysis of some hundred runs takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hati.core import Evidence, digest, replace
from hati.core.wording import counted
from hati.studies.screening import AnyScreening, ScreeningConclusion
from hati.studies.screening.warnings import OF_PROGRAMS
from hati.wiring.known.kept import inputs_of, kept

if TYPE_CHECKING:
    from hati.wiring.workplace import Announce, Workplace

_SLOW_TO_ANALYSE = 30_000
"""The number of runs times squared options above which an analysis takes seconds."""


def announce_analysis(announce: Announce, study: AnyScreening, evidence: Evidence, doing: str) -> None:
    """Announce an analysis that may take long: ``doing``, then the number of runs."""
    if len(evidence.runs) * len(study.space.options) ** 2 > _SLOW_TO_ANALYSE:
        announce(f"{doing} {counted(len(evidence.runs), 'run')}")


def findings(place: Workplace, study: AnyScreening, evidence: Evidence, doing: str) -> ScreeningConclusion:
    """The conclusion without its warnings: the kept one if it is of the same study and runs, else it is kept.

    An analysis that may take long is announced: ``doing``, then the number of runs.

    Raises:
        MeasurementError: if no run yielded a value.
    """

    def analysed() -> ScreeningConclusion:
        announce_analysis(place.announce, study, evidence, doing)
        return study.conclude(evidence)

    return _kept(place, study, evidence, analysed)


def keep_findings(place: Workplace, study: AnyScreening, evidence: Evidence, found: ScreeningConclusion) -> None:
    """Keep the conclusion of these runs for the studies that are planned from it."""
    _kept(place, study, evidence, lambda: found)


def _kept(
    place: Workplace, study: AnyScreening, evidence: Evidence, conclude: Callable[[], ScreeningConclusion]
) -> ScreeningConclusion:
    """The kept conclusion; its warnings also depend on the advice of a command, and are not kept."""
    name = digest([study.metric.name, study.relevant, *map(str, study.space.template)], 12)
    file = place.project.root / ".hati" / "conclusions" / f"{study.id.key}-{name}"
    inputs = (repr(replace(study, remedies=OF_PROGRAMS)), inputs_of(evidence))
    return kept(file, ScreeningConclusion, inputs, lambda: replace(conclude(), warnings=()))
