"""``hati run``: configurations measured without a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hati.core import BenchmarkName, Seed, Templates, budget
from hati.wiring.study_types import StudyReport, StudyType

if TYPE_CHECKING:
    from hati.core import Benchmark, Configuration, StudyId
    from hati.studies.measurement import Measurement, MeasurementConclusion
    from hati.wiring.campaigns import Campaign, Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace


class MeasurementRequest(Struct, frozen=True, kw_only=True):
    """Measure the default configuration and summarise its runs.

    With --set other settings; several settings of an option are measured interleaved.
    """

    benchmark: BenchmarkName = None
    template: Templates = ()
    budget: Annotated[str, budget("2m", "")] = "10"
    seed: Seed = 1


class MeasurementType(StudyType[MeasurementRequest, "Measurement", "MeasurementConclusion"]):
    """The measurement of configurations."""

    name, kind, request = "run", "measurement", MeasurementRequest
    lent = True
    afresh = True

    def open(self, path: Path, store: str | None, request: MeasurementRequest, announce: Announce) -> Workplace:
        """The project; its template chooses configurations, and does not narrow the space."""
        del request
        from hati.wiring.workplace import workplace

        return workplace(path, store, announce)

    def prepare(
        self, place: Workplace, request: MeasurementRequest, *, fresh: bool
    ) -> Prepared[Measurement, MeasurementConclusion]:
        """The interrupted campaign, or a new one."""
        from hati.core import Budget
        from hati.wiring.templates import template_configurations

        Budget.parse(request.budget)
        benchmark = place.project.benchmark(request.benchmark)
        configurations = template_configurations(place.project.space, request.template, place.announce)
        return prepare_configurations(place, benchmark, configurations, request.budget, request.seed, fresh=fresh)

    def restore(self, stored: StoredStudy) -> Measurement:
        """The measurement from its record."""
        from hati.core import Budget, Configuration
        from hati.studies.measurement import Measurement

        parameters = stored.parameters
        return Measurement(
            stored.id,
            stored.benchmark(parameters["benchmark"]),
            tuple(map(Configuration, parameters["configurations"])),
            parameters["revision"],
            Budget.parse(parameters["budget"]),
        )

    def report(
        self, place: Workplace, study: Measurement, found: MeasurementConclusion, request: MeasurementRequest | None
    ) -> StudyReport:
        """The summaries."""
        del place, study, request
        from hati.document import publish
        from hati.studies.measurement import MeasurementJson, measurement_document

        return StudyReport(measurement_document(found), lambda: publish(found, MeasurementJson))

    def measured_report(
        self,
        prepared: Prepared[Measurement, MeasurementConclusion],
        request: MeasurementRequest,
        found: MeasurementConclusion,
    ) -> StudyReport:
        """The summaries, and whether the benchmark warms up."""
        from hati.core import replace
        from hati.wiring.known.warm_up import warm_up_hints

        known = super().measured_report(prepared, request, found)
        return replace(known, remarks=warm_up_hints(prepared.place, prepared.study.benchmark))

    def measured(self, study: Measurement, found: MeasurementConclusion) -> tuple[str, ...]:
        """None: the notes of the summaries say it of each configuration."""
        del study, found
        return ()

    def title(self, study: Measurement) -> str:
        """Its benchmark."""
        return study.benchmark.name


def prepare_configurations(
    place: Workplace,
    benchmark: Benchmark,
    configurations: tuple[Configuration, ...],
    budget: str,
    seed: int,
    *,
    fresh: bool,
) -> Campaign[Measurement, MeasurementConclusion]:
    """The interrupted campaign of these configurations, or a new one."""
    from hati.core import Budget
    from hati.core.wording import counted
    from hati.studies.measurement import Measurement, measurement_id
    from hati.wiring.campaigns import Campaign, campaign_of

    limit, number = Budget.parse(budget), len(configurations)
    described = f"{counted(number, 'configuration')}, interleaved" if number > 1 else ""

    def prepared(study: StudyId) -> Campaign[Measurement, MeasurementConclusion]:
        made = Measurement(study, benchmark, configurations, place.revision, limit)
        return Campaign(place, made, limit, (benchmark,), lambda: described, made.planned)

    first = measurement_id(benchmark, configurations, place.revision, budget, seed, place.measured_on.id)
    return campaign_of(place, first, prepared, lambda known: known.finished, fresh=fresh)
