"""``hati audit``: how often does a comparison err here?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hati.core import BenchmarkName, FlagField, InputError, Margin, Seed, StatisticName, budget, level, replace
from hati.wiring.kinds.measurement import MeasurementRequest, MeasurementType
from hati.wiring.study_types import GivenFlags, Steps, StudyReport, StudyType, unseen

if TYPE_CHECKING:
    from hati.campaign import Observer
    from hati.core import Sample
    from hati.knowledge import Entry
    from hati.studies.audit import AuditSettings
    from hati.studies.comparison import StatisticChoice
    from hati.studies.measurement import Measurement, MeasurementConclusion
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace

_NAMED = 10


class AuditRequest(Struct, frozen=True, kw_only=True):
    """Test how often `hati compare` errs on one program.

    Splits the runs at random into two samples: counts false alarms, and how often an injected change is found.
    """

    splits: Annotated[int, FlagField("Number of random splits into halves.", metavar="N")] = 20
    margin: Margin = 0.05
    alpha: Annotated[float, level("of each verdict")] = 0.01
    statistic: StatisticName = "auto"
    metric: Annotated[str | None, FlagField("Metric to audit [default: all].", metavar="NAME")] = None
    history: Annotated[
        tuple[Path, ...],
        FlagField("Earlier samples, to estimate the variance between runs; repeatable.", metavar="FILE"),
    ] = ()
    benchmark: BenchmarkName = None
    budget: Annotated[str, budget("2m", "")] = "20"
    seed: Seed = 1

    @property
    def settings(self) -> AuditSettings:
        """How samples are audited.

        Raises:
            InputError: for a level, a margin, a statistic or a number of splits that is not valid.
        """
        from hati.studies.audit import AuditSettings
        from hati.studies.comparison import Question, parse_statistic

        question = Question(self.alpha, self.margin, parse_statistic(self.statistic))
        return AuditSettings(question, self.splits, self.seed)

    @property
    def measured(self) -> MeasurementRequest:
        """The request to measure the default configuration."""
        return MeasurementRequest(benchmark=self.benchmark, budget=self.budget, seed=self.seed)


class AuditType(StudyType[AuditRequest, "Measurement", "MeasurementConclusion"]):
    """The audit of samples in a file or of a measurement, which the store keeps as a study of kind ``measurement``."""

    name, kind, request = "audit", "audit", AuditRequest
    place_help = "File of samples in any format that `hati import` reads; or a folder with hati.toml, to measure now."
    afresh = True
    restores = False

    def refuse(self, path: Path, request: AuditRequest, given: GivenFlags) -> None:
        """Check the settings of the audit."""
        del path, given
        _ = request.settings

    def root(self, path: Path, request: AuditRequest) -> Path | None:
        """The folder or file of a project; None for another path."""
        del request
        return path if path.suffix == ".toml" or (path.is_dir() and (path / "hati.toml").exists()) else None

    def inputs(self, path: Path, request: AuditRequest) -> tuple[Path, ...]:
        """The files of samples."""
        return (path, *request.history)

    def read(
        self, path: Path, store: str | None, request: AuditRequest, announce: Announce, steps: Steps
    ) -> StudyReport | None:
        """The audit of the samples in a file."""
        del store
        if self.root(path, request) is not None:
            return None
        return _audited(_samples(path, request.benchmark, announce), request, path, {}, steps)

    def prepare(
        self, place: Workplace, request: AuditRequest, *, fresh: bool
    ) -> Prepared[Measurement, MeasurementConclusion]:
        """The campaign of the default configuration."""
        return MeasurementType().prepare(place, request.measured, fresh=fresh)

    def make(
        self,
        prepared: Prepared[Measurement, MeasurementConclusion],
        request: AuditRequest,
        announce: Announce,
        observe: Observer,
    ) -> MeasurementConclusion:
        """Measure, and store the request as one of a measurement."""
        return MeasurementType().make(prepared, request.measured, announce, observe)

    def restore(self, stored: StoredStudy) -> Measurement:
        """The measurement."""
        return MeasurementType().restore(stored)

    def report(
        self, place: Workplace, study: Measurement, found: MeasurementConclusion, request: AuditRequest | None
    ) -> StudyReport:
        """The audit of the existing runs, with the statistics that other runs determine for the metrics."""
        from hati.store import Selection
        from hati.wiring.known.benchmarks import known_statistics

        samples, known = (
            place.store.samples(Selection(found.study)),
            known_statistics(place, study.benchmark, found.study),
        )
        answer = _audited(samples, request or AuditRequest(), place.project.root, known, unseen)
        if not found.failed:
            return answer
        failed = f"{found.failed} of {found.done + found.failed} runs failed: {found.failures[-1]}"
        return replace(answer, remarks=(failed,))

    def title(self, study: Measurement) -> str:
        """Its benchmark."""
        return study.benchmark.name


def _samples(path: Path, benchmark: str | None, announce: Announce) -> tuple[Sample, ...]:
    """The samples in a file, or those of one benchmark.

    Raises:
        InputError: where it cannot be read, or has no such benchmark.
    """
    from hati.subject.samples import read_samples

    if path.is_dir() and path == Path():
        raise InputError("there is no hati.toml here", fix="name a file of samples, or a folder with hati.toml")
    file = read_samples(path)
    for text in file.warnings:
        announce(f"warning: {text}")
    samples = tuple(sample for sample in file.samples if benchmark in {None, sample.benchmark})
    if not samples:
        known = ", ".join(sorted({sample.benchmark for sample in file.samples})[:_NAMED])
        raise InputError(f"{path} has no benchmark {benchmark!r}", fix=f"its benchmarks are {known}")
    return samples


def _audited(
    samples: Sequence[Sample],
    request: AuditRequest,
    path: Path,
    known: Mapping[str, Entry[StatisticChoice]],
    steps: Steps,
) -> StudyReport:
    from hati.document import publish
    from hati.studies.audit import audit
    from hati.studies.audit.document import AuditJson, audit_document
    from hati.subject.samples import read_samples
    from hati.wiring.compared_files import of_metric

    settings = replace(request.settings, known=known)
    earlier = [sample for file in request.history for sample in read_samples(file).samples]
    with steps("auditing") as watch:
        found = audit(of_metric(tuple(samples), request.metric, path), settings, earlier, watch)
    return StudyReport(
        audit_document(found), lambda: publish(found, AuditJson), conclusion=found, unshown=found.warnings
    )
