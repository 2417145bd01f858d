"""``hati compare``: is one of two slower, in files or measured now?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hati.core import (
    ExitStatus,
    InputError,
    Pairing,
    Stopping,
)
from hati.studies.paired.request import CompareRequest
from hati.wiring.study_types import GivenFlags, Steps, StudyReport, StudyType

if TYPE_CHECKING:
    from hati.studies.paired import PairedComparison, PairedConclusion
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace


_OF_FILES = ("benchmarks", "history", "interval", "within_process", "tests")
_OF_BENCHMARKS = ("settings", "set_before", "set_after", "stopping", "pairing", "budget", "fresh", "dry_run")


class PairedType(StudyType[CompareRequest, "PairedComparison", "PairedConclusion"]):
    """The comparison of benchmarks that are measured now in pairs, or of files."""

    name, kind, section, request = "compare", "paired", "Decide", CompareRequest
    place_help = "Benchmarks: folder with hati.toml, or the file."
    unrecorded = ("level", "margin")
    judges = True
    metrics_apart = True

    def refuse(self, path: Path, request: CompareRequest, given: GivenFlags) -> None:
        """Refuse flags for benchmarks if files are compared, and flags for files if benchmarks are."""
        from hati.studies.comparison import parse_failing

        _ = request.question, parse_failing(request.fail_on)
        if self.root(path, request) is not None:
            if flag := given.first(*_OF_FILES):
                raise InputError(f"{flag} is for files of samples", fix="leave it out, or compare two files")
        elif flag := given.first(*_OF_BENCHMARKS):
            raise InputError(
                f"{flag} is for benchmarks that are measured now, and files are compared as they are",
                fix="leave it out, or name two benchmarks of hati.toml",
            )

    def root(self, path: Path, request: CompareRequest) -> Path | None:
        """The project if the names are benchmarks: no path has these names, or only folders have and benchmarks too."""
        from hati.wiring.comparing.files import is_pattern

        (before, *_), (after, *_) = request.sides
        paths = Path(before), Path(after)
        known = path.is_file() or (path / "hati.toml").is_file()
        if not request.names or not known or any(map(Path.is_file, paths)):
            return None
        if not any(map(Path.exists, paths)) and not is_pattern(before) and not is_pattern(after):
            return path
        from hati.project import read_project

        return path if {before, after} <= {benchmark.name for benchmark in read_project(path).benchmarks} else None

    def inputs(self, path: Path, request: CompareRequest) -> tuple[Path, ...]:
        """The files of both sides, and those of earlier samples."""
        from hati.wiring.comparing.files import FileSides, history_files

        if self.root(path, request) is not None:
            return ()
        files = FileSides.of(*request.sides)
        return (*files.files, *history_files(request.history, files))

    def read(
        self, path: Path, store: str | None, request: CompareRequest, announce: Announce, steps: Steps
    ) -> StudyReport | None:
        """The comparison of files."""
        del store, steps
        return files_report(request, announce) if self.root(path, request) is None else None

    def prepare(
        self, place: Workplace, request: CompareRequest, *, fresh: bool
    ) -> Prepared[PairedComparison, PairedConclusion]:
        """The campaign of pairs."""
        from hati.wiring.comparing.variants import prepare_pairs

        return prepare_pairs(place, request, fresh=fresh)

    def missing(self, stored: StoredStudy) -> tuple[str, ...]:
        """Also the statistic, if none was chosen."""
        missing = super().missing(stored)
        return missing if not missing or stored.choices().rows else (*missing, "statistic (here the mean)")

    def restore(self, stored: StoredStudy) -> PairedComparison:
        """The comparison from its record."""
        from hati.core import Budget, Configuration
        from hati.harness import RULES
        from hati.studies.comparison import Question
        from hati.studies.paired import PairedComparison, PairedDesign, Variant, shared_metrics

        parameters, asked = stored.parameters, stored.asked(CompareRequest)
        before, after = (
            Variant(stored.benchmark(name), Configuration(settings)) for name, _, settings in parameters["variants"]
        )
        question = asked.question if asked else Question(statistic=stored.statistic())
        design = PairedDesign(
            before,
            after,
            parameters["revision"],
            stored.id.machine,
            question,
            RULES[Stopping(parameters["stopping"])],
            Pairing(parameters["pairing"]),
            stored.choices(),
        )
        metrics = shared_metrics(before, after, stored.wanted or (asked.metric if asked else None))
        limit = parameters["budget"]
        return PairedComparison(stored.id, design, metrics, Budget.parse(limit) if limit else Budget())

    def report(
        self, place: Workplace, study: PairedComparison, found: PairedConclusion, request: CompareRequest | None
    ) -> StudyReport:
        """The verdicts."""
        del place, study
        from hati.document import publish
        from hati.studies.comparison import parse_failing
        from hati.studies.paired.document import PairedJson, paired_document

        status = found.comparisons.status(parse_failing(request.fail_on)) if request else ExitStatus.OK
        return StudyReport(paired_document(found), lambda: publish(found, PairedJson), status)

    def title(self, study: PairedComparison) -> str:
        """Its variants."""
        from hati.studies.paired.document import variant_names

        return " against ".join(reversed(variant_names(study.design.before, study.design.after)))


def files_report(request: CompareRequest, announce: Announce) -> StudyReport:
    """The comparison of files; notes, warnings and hints about them are announced.

    Raises:
        InputError: where a file cannot be read, or no sample has a counterpart on the other side.
    """
    from hati.document import publish
    from hati.studies.comparison import parse_failing
    from hati.studies.comparison.document import ComparisonsJson, comparisons_document
    from hati.wiring.comparing.files import FileSides, compare_files, history_files

    sides = FileSides.of(*request.sides)
    found = compare_files(sides, request, history_files(request.history, sides))
    for line in (*found.notes, *(f"warning: {text}" for text in found.warnings), *found.hints):
        announce(line)
    compared = found.comparisons
    return StudyReport(
        comparisons_document(compared),
        lambda: publish(compared, ComparisonsJson),
        compared.status(parse_failing(request.fail_on)),
        conclusion=compared,
        unshown=compared.warnings,
    )
