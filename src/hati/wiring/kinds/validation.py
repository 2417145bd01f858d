"""``hati validate``: do the assumptions of a screening hold?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from hati.core import FlagField, Relevant, ScreenedMetric, Seed, TableFields, Templates, budget
from hati.core.requests import parse_names
from hati.wiring.study_types import PROJECT_OR_TABLE, StudyReport, StudyType

if TYPE_CHECKING:
    from hati.studies.validation import ValidationConclusion
    from hati.wiring.campaigns import Prepared
    from hati.wiring.screening.validation import AnyValidation
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Workplace


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


class ValidationType(StudyType[ValidationRequest, "AnyValidation", "ValidationConclusion"]):
    """The validation of a screening."""

    name, kind, request = "validate", "validation", ValidationRequest
    place_help = PROJECT_OR_TABLE

    def prepare(
        self, place: Workplace, request: ValidationRequest, *, fresh: bool
    ) -> Prepared[AnyValidation, ValidationConclusion]:
        """The campaign of further runs."""
        from hati.wiring.screening.validation import prepare_validation

        return prepare_validation(place, request, fresh=fresh)

    def restore(self, stored: StoredStudy) -> AnyValidation:
        """The validation from its record, with the current state of its screening."""
        from hati.wiring.screening.validation import restored_validation

        return restored_validation(stored.place, stored.id)

    def report(
        self, place: Workplace, study: AnyValidation, found: ValidationConclusion, request: ValidationRequest | None
    ) -> StudyReport:
        """The verdicts on the assumptions."""
        del place, study, request
        from hati.document import publish
        from hati.studies.validation.document import ValidationJson, validation_document

        return StudyReport(validation_document(found), lambda: publish(found, ValidationJson))

    def measured_report(
        self,
        prepared: Prepared[AnyValidation, ValidationConclusion],
        request: ValidationRequest,
        found: ValidationConclusion,
    ) -> StudyReport:
        """The verdicts on the assumptions.

        Raises:
            MeasurementError: where all runs failed.
        """
        if found.failed and not found.done:
            from hati.studies.schedule import nothing_measured

            raise nothing_measured(found.failures)
        return super().measured_report(prepared, request, found)

    def title(self, study: AnyValidation) -> str:
        """Its benchmark."""
        return study.benchmark.name
