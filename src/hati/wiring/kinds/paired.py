"""``hati compare``: is one of two slower, in files or measured now?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Struct

from hati.core import (
    ExitStatus,
    FlagField,
    InputError,
    Margin,
    Pairing,
    PositionalField,
    StatisticName,
    Stopping,
    fail_on,
    share,
)
from hati.core.requests import LARGEST_SEED
from hati.core.wording import listed
from hati.wiring.study_types import STATISTIC, GivenFlags, Steps, StudyReport, StudyType

if TYPE_CHECKING:
    from hati.studies.comparison import Question
    from hati.studies.paired import PairedComparison, PairedConclusion
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace

_SETTINGS = "OPTION=SETTING,..."
_USAGE = "write `hati compare BEFORE AFTER`, or `hati compare --before FILE... --after FILE...`"
Names = tuple[str, ...] | str
"""Several names, or one."""


class CompareRequest(Struct, frozen=True, kw_only=True):
    """Compare two samples: slower, faster, same or undecided.

    Samples come from files, several a side or one, or are measured now. An undecided comparison names the runs that
    would decide.
    """

    names: Annotated[
        tuple[str, ...],
        PositionalField("Files in any format that `hati import` reads, or benchmarks to measure now.", "BEFORE AFTER"),
    ] = ()
    before: Annotated[Names, FlagField("Files before: names, patterns or folders; repeatable.", metavar="FILE...")] = ()
    after: Annotated[Names, FlagField("Files after: names, patterns or folders; repeatable.", metavar="FILE...")] = ()
    benchmarks: Annotated[
        tuple[str, ...],
        FlagField(
            "Files: benchmarks to compare, by name or pattern such as '*sort*' [default: all]; repeatable.",
            metavar="NAME",
            name="--benchmark",
        ),
    ] = ()
    margin: Margin = 0.05
    alpha: Annotated[float, share("False discovery rate over all comparisons, such as 1%.")] = 0.01
    statistic: StatisticName = "auto"
    metric: Annotated[str | None, FlagField("Metric to compare [default: all].", metavar="NAME")] = None
    history: Annotated[
        tuple[str, ...],
        FlagField("Files: earlier samples, to estimate the variance between runs; repeatable.", metavar="FILE..."),
    ] = ()
    interval: Annotated[
        Literal["t", "bootstrap"],
        FlagField("Files: method of the interval of a ratio; verdicts always use Student's t."),
    ] = "t"
    within_process: Annotated[
        bool,
        FlagField("Files: decide by observations where each side is one process; valid for these only."),
    ] = False
    tests: Annotated[bool, FlagField("Files: add classical tests of run medians, and Shapiro-Wilk's of normality.")] = (
        False
    )
    fail_on: Annotated[str, fail_on("slower, faster (status 1), inconclusive (3)")] = "slower,inconclusive"
    settings: Annotated[str, FlagField("Benchmarks: settings of both sides.", metavar=_SETTINGS, name="--set")] = ""
    set_before: Annotated[str, FlagField("Benchmarks: settings of BEFORE only.", metavar=_SETTINGS)] = ""
    set_after: Annotated[str, FlagField("Benchmarks: settings of AFTER only.", metavar=_SETTINGS)] = ""
    stopping: Annotated[
        Stopping,
        FlagField("Benchmarks: stop as soon as it is decided, or at the fixed number of runs.", name="--stop"),
    ] = Stopping.ANYTIME
    pairing: Annotated[
        Pairing,
        FlagField(
            "Benchmarks: run both of a pair at the same time, each on its own core.",
            name="--duet",
            stands_for=Pairing.DUET,
        ),
    ] = Pairing.INTERLEAVED
    budget: Annotated[str, FlagField("Benchmarks: a number of runs, or a time such as 5m.", metavar="RUNS|TIME")] = "64"
    seed: Annotated[
        int,
        FlagField("Random seed, for the order in pairs or the bootstrap.", metavar="SEED", least=0, most=LARGEST_SEED),
    ] = 1

    @property
    def sides(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of each side: the two names, or those of --before and --after.

        Raises:
            InputError: where a side is empty, or names are on neither side.
        """
        before, after = _several(self.before), _several(self.after)
        if before or after:
            if self.names:
                raise InputError(
                    f"{listed(self.names)} {'is' if len(self.names) == 1 else 'are'} on neither side",
                    fix="name all files of a side right after --before or --after",
                )
            if not (before and after):
                raise InputError(f"{'--after' if before else '--before'} is missing", fix=_USAGE)
            return before, after
        if len(self.names) == 2:
            return self.names[:1], self.names[1:]
        missing = ("BEFORE and AFTER are", "AFTER is")
        count = len(self.names)
        what = f"{missing[count]} missing" if count < 2 else f"{count} files are on neither side"
        raise InputError(what, fix=_USAGE)

    def settings_of(self, own: str) -> str:
        """The settings of a side: those of both sides, then its ``own``."""
        return ",".join(filter(None, (self.settings, own)))

    @property
    def question(self) -> Question:
        """The question of each comparison.

        Raises:
            InputError: for a level, a margin or a statistic that is not valid.
        """
        from hati.studies.comparison import Question, parse_statistic

        return Question(self.alpha, self.margin, parse_statistic(self.statistic))


def _several(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


_OF_FILES = ("benchmarks", "history", "interval", "within_process", "tests")
_OF_BENCHMARKS = ("settings", "set_before", "set_after", "stopping", "pairing", "budget", "fresh", "dry_run")


class PairedType(StudyType[CompareRequest, "PairedComparison", "PairedConclusion"]):
    """The comparison of benchmarks that are measured now in pairs, or of files."""

    name, kind, section, request = "compare", "paired", "Decide", CompareRequest
    place_help = "Benchmarks: folder with hati.toml, or the file."
    unrecorded = ("level", "margin", STATISTIC)
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
        from hati.wiring.compared_files import is_pattern

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
        from hati.wiring.compared_files import FileSides, history_files

        if self.root(path, request) is not None:
            return ()
        files = FileSides.of(*request.sides)
        return (*files.files, *history_files(request.history, files))

    def read(
        self, path: Path, store: str | None, request: CompareRequest, announce: Announce, steps: Steps
    ) -> StudyReport | None:
        """The comparison of files."""
        del store
        return files_report(request, announce, steps) if self.root(path, request) is None else None

    def prepare(
        self, place: Workplace, request: CompareRequest, *, fresh: bool
    ) -> Prepared[PairedComparison, PairedConclusion]:
        """The campaign of pairs."""
        from hati.wiring.comparing import prepare_pairs

        return prepare_pairs(place, request, fresh=fresh)

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


def files_report(request: CompareRequest, announce: Announce, steps: Steps) -> StudyReport:
    """The comparison of files; notes, warnings and hints about them are announced.

    Raises:
        InputError: where a file cannot be read, or no sample has a counterpart on the other side.
    """
    from hati.document import publish
    from hati.studies.comparison import parse_failing
    from hati.studies.comparison.document import ComparisonsJson, comparisons_document
    from hati.wiring.compared_files import FileSides, compare_files, history_files

    sides = FileSides.of(*request.sides)
    found = compare_files(sides, request, history_files(request.history, sides), announce, steps)
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
