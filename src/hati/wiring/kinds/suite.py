"""``hati suite``: how a metric is distributed over the whole space."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hati.core import BenchmarkName, FlagField, InputError, MetricName, Seed, TableFields, Templates, share, shares
from hati.core.requests import parse_names
from hati.wiring.study_types import PROJECT_OR_TABLE, StudyReport, StudyType

if TYPE_CHECKING:
    from hati.core import FloatArray, Metric
    from hati.studies.suite import SuiteConclusion, SuiteStudy
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace


class SuiteRequest(TableFields, frozen=True, kw_only=True):
    """Estimate a metric's distribution over the whole space.

    Measures all combinations of its important options.
    """

    options: Annotated[
        tuple[str, ...] | None,
        FlagField(
            "Options that define the strata [default: the important ones of the best screening].",
            metavar="A,B,..",
            parse=parse_names,
        ),
    ] = None
    runs: Annotated[int | None, FlagField("Number of configurations [default: 32].", least=1)] = None
    budget: Annotated[
        str | None,
        FlagField("Limit: a number of runs, or a time; further runs repeat the configurations.", metavar="RUNS|TIME"),
    ] = None
    metric: MetricName = None
    against: Annotated[
        str | None,
        FlagField(
            "Compare with a table of all configurations, or with a random sample measured too.",
            metavar="TABLE|random",
        ),
    ] = None
    margin: Annotated[float, share("Largest difference between means that counts as the same, such as 5%.")] = 0.05
    quantiles: Annotated[tuple[float, ...], shares("Quantiles to estimate, as fractions or percentages.")] = (
        0.05,
        0.25,
        0.5,
        0.75,
        0.95,
    )
    benchmark: BenchmarkName = None
    template: Templates = ()
    seed: Seed = 1


RANDOM = "random"


def _population(asked: SuiteRequest, metric: Metric, file: Path) -> FloatArray | None:
    """The values of the table to compare with; None if it cannot be read any more."""
    from hati.wiring.screening.suite import population

    try:
        return population(asked, metric, file)
    except InputError:
        return None


class SuiteType(StudyType[SuiteRequest, "SuiteStudy", "SuiteConclusion"]):
    """The suite that represents a space."""

    name, kind, request = "suite", "suite", SuiteRequest
    place_help = PROJECT_OR_TABLE
    unrecorded = ("margin", "levels of quantiles", "data to compare with")
    metrics_apart = True

    def open(self, path: Path, store: str | None, request: SuiteRequest, announce: Announce) -> Workplace:
        """The project or table; conditions on rows apply to the table to compare with, if there is one."""
        from hati.core import replace
        from hati.subject.table import is_table

        of_other = request.space is None and not is_table(path) and request.against not in {None, RANDOM}
        return super().open(path, store, replace(request, where=()) if of_other else request, announce)

    def prepare(self, place: Workplace, request: SuiteRequest, *, fresh: bool) -> Prepared[SuiteStudy, SuiteConclusion]:
        """The campaign of its configurations."""
        from hati.wiring.screening.suite import prepare_suite

        return prepare_suite(place, request, fresh=fresh)

    def restore(self, stored: StoredStudy) -> SuiteStudy:
        """The suite from its record.

        Raises:
            InputError: where the project has other options now.
        """
        from hati.studies.suite import SuitePlan, SuiteStudy
        from hati.wiring.known.screenings import working_space
        from hati.wiring.templates import space_then

        parameters, project = stored.parameters, stored.place.project
        benchmark = stored.benchmark(parameters["benchmark"])
        spaces = (space_then(project.space, stored.record), working_space(stored.place, benchmark)[0])
        space = next((each for each in spaces if each.digest == parameters["space"]), None)
        if space is None:
            raise InputError(
                f"the options in {project.file} are not those of {stored.id.key}",
                fix="report another study, or bring the options back",
            )
        plan = SuitePlan(
            tuple(parameters["options"]),
            tuple(parameters["ranking"]),
            parameters["size"],
            parameters["repetitions"],
            parameters["sampled"],
            "of the stored suite",
            tuple(parameters.get("left_out", ())),
        )
        asked = stored.asked(SuiteRequest)
        metric = stored.metric(benchmark, asked.metric if asked else None)
        more: Mapping[str, Any] = {}
        if asked:
            compared = _population(asked, metric, project.file)
            more = {"levels": asked.quantiles, "margin": asked.margin, "population": compared}
        return SuiteStudy(
            stored.id, parameters["subject"], benchmark, metric, parameters["revision"], space, plan, **more
        )

    def missing(self, stored: StoredStudy) -> tuple[str, ...]:
        """Also the table to compare with, if it cannot be read any more."""
        asked = stored.asked(SuiteRequest)
        if asked is None or asked.against in {None, RANDOM}:
            return super().missing(stored)
        metric = stored.metric(stored.benchmark(stored.parameters["benchmark"]), asked.metric)
        gone = _population(asked, metric, stored.place.project.file) is None
        return ("data to compare with",) if gone else ()

    def report(
        self, place: Workplace, study: SuiteStudy, found: SuiteConclusion, request: SuiteRequest | None
    ) -> StudyReport:
        """The estimates; the page is kept."""
        del place, study, request
        from hati.document import publish
        from hati.studies.suite.document import SuiteJson, suite_document

        return StudyReport(suite_document(found), lambda: publish(found, SuiteJson), kept=found.metric.name)

    def title(self, study: SuiteStudy) -> str:
        """Its benchmark."""
        return study.benchmark.name
