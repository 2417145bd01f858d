"""``hati failures``: which combinations of settings make a benchmark fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hati.core import BenchmarkName, FlagField, InputError, Seed, Templates, budget, convert, fail_on
from hati.wiring.study_types import StudyReport, StudyType

if TYPE_CHECKING:
    from hati.core import Benchmark, Plan, StudyId
    from hati.space import Space, UsageDistribution
    from hati.studies.failure_search import FailureConclusion, FailureSearch
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Workplace


class FailuresRequest(Struct, frozen=True, kw_only=True):
    """Find the combinations of settings that make a benchmark fail.

    Runs a covering array, searches around each failure, and confirms what it names.
    """

    strength: Annotated[
        int,
        FlagField("Number of options whose settings are all combined.", metavar="2|3|4", least=2, most=4),
    ] = 2
    budget: Annotated[str | None, budget("10m", "until all failures are traced")] = None
    benchmark: BenchmarkName = None
    template: Templates = ()
    fail_on: Annotated[str, fail_on("certain, flaky (status 1), unconfirmed (3)")] = "none"
    seed: Seed = 1


class FailuresType(StudyType[FailuresRequest, "FailureSearch", "FailureConclusion"]):
    """The search for failing combinations."""

    name, kind, request = "failures", "failures", FailuresRequest
    lent = True

    def prepare(
        self, place: Workplace, request: FailuresRequest, *, fresh: bool
    ) -> Prepared[FailureSearch, FailureConclusion]:
        """The interrupted or finished campaign, or a new one.

        Raises:
            InputError: where the space has no covering array of this strength, or ``fail_on`` names no verdict.
        """
        from hati.core import Budget, Plan
        from hati.core.wording import counted
        from hati.studies.failure_search import failure_search_id, parse_failing
        from hati.wiring.campaigns import Campaign, all_failed, campaign_of

        parse_failing(request.fail_on)
        benchmark, space = place.project.benchmark(request.benchmark), place.project.space
        usage = place.project.usage
        if not space.options:
            raise InputError("the space has no options", fix="list some under [options]")
        limit = Budget.parse(request.budget) if request.budget else Budget()

        def prepared(study: StudyId) -> Campaign[FailureSearch, FailureConclusion]:
            made = _search(study, benchmark, place.revision, space, request.strength, usage)

            def left() -> Plan:
                plan = made.plan(place.store.evidence(study))
                return Plan((*plan.batches, *plan.ahead)).within(limit)

            def described() -> str:
                number = counted(len(made.first_rows), "configuration")
                return f"covering array of strength {request.strength}: {number}"

            return Campaign(place, made, limit, (benchmark,), described, left)

        first = failure_search_id(
            benchmark=benchmark,
            revision=place.revision,
            space=space,
            strength=request.strength,
            seed=request.seed,
            machine=place.measured_on.id,
            usage=usage,
        )
        return campaign_of(place, first, prepared, all_failed, fresh=fresh)

    def restore(self, stored: StoredStudy) -> FailureSearch:
        """The search from its record.

        Raises:
            InputError: where the project has other options now.
        """
        from hati.space import SettingUsage, UsageDistribution
        from hati.wiring.templates import space_then

        parameters, project = stored.parameters, stored.place.project
        space = space_then(project.space, stored.record)
        if space.digest != parameters["space"]:
            raise InputError(
                f"the options in {project.file} are not those of {stored.id.key}",
                fix="report another study, or bring the options back",
            )
        benchmark = stored.benchmark(parameters["benchmark"])
        usage = UsageDistribution(convert(parameters.get("usage", ()), tuple[SettingUsage, ...]))
        return _search(stored.id, benchmark, parameters["revision"], space, parameters["strength"], usage)

    def report(
        self, place: Workplace, study: FailureSearch, found: FailureConclusion, request: FailuresRequest | None
    ) -> StudyReport:
        """The failing combinations, the tested ones that passed, and a classification tree of the runs."""
        from hati.core import replace
        from hati.document import publish
        from hati.stats.classification import missing_trees
        from hati.studies.failure_search import failure_tree, parse_failing
        from hati.studies.failure_search.document import FailuresJson, failures_document

        status = found.status(parse_failing((request or FailuresRequest()).fail_on))
        missing = missing_trees()
        if found.failed and not missing:
            runs = place.store.evidence(study.id).runs
            found = replace(found, tree=failure_tree(runs, study.id.seed, place.store.machines()))
        document = failures_document(found, missing)
        return StudyReport(document, lambda: publish(found, FailuresJson), status, conclusion=found)

    def measured(self, study: FailureSearch, found: FailureConclusion) -> tuple[str, ...]:
        """None: no time is judged."""
        del study, found
        return ()

    def title(self, study: FailureSearch) -> str:
        """Its benchmark."""
        return study.benchmark.name


def _search(
    study: StudyId, benchmark: Benchmark, revision: str, space: Space, strength: int, usage: UsageDistribution
) -> FailureSearch:
    from hati.studies.failure_search import FailureSearch

    return FailureSearch(study, benchmark, revision, space, strength, usage)
