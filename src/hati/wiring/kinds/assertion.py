"""``hati assert``: do stated requirements hold?"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Struct

from hati.core import ExitStatus, FlagField, InputError, PositionalField, Seed, fail_on, level, replace, share
from hati.core.requests import parse_failing
from hati.wiring.study_types import GivenFlags, Steps, StudyReport, StudyType

if TYPE_CHECKING:
    from hati.campaign import Observer
    from hati.core import Evidence
    from hati.logic.interpret import FormulaVerdict
    from hati.studies.assertion import Assertion, Assured, Portability, Requirement, Standard
    from hati.wiring.campaigns import Prepared
    from hati.wiring.formulas.loading import NamedFile
    from hati.wiring.formulas.measuring import AssertionCampaign
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace

_OF_VERDICTS = ("history", "interpretation", "margin", "fail_on", "explain")
_OF_MEASURING = ("budget", "fresh", "dry_run")


class AssertionRequest(Struct, frozen=True, kw_only=True, dict=True):
    """Decide formulas: HOLDS, VIOLATED or INCONCLUSIVE.

    Measures the methods that the formulas mention, or reads them from --samples.
    """

    paths: Annotated[
        tuple[Path, ...],
        PositionalField("Files with formulas (*.spl, or *.py with @hati.spl), or folders.", "PATH..."),
    ] = ()
    formula: Annotated[tuple[str, ...], FlagField("Formula to decide; repeatable.", metavar="FORMULA")] = ()
    samples: Annotated[
        tuple[str, ...],
        FlagField("Samples of each method: FILE, or FILE#BENCHMARK.", metavar="NAME=FILE,..."),
    ] = ()
    history: Annotated[
        tuple[str, ...],
        FlagField(
            "Earlier samples of the same methods, to estimate the variance between runs.", metavar="NAME=FILE,..."
        ),
    ] = ()
    interpretation: Annotated[
        Literal["default", "welch", "parametric", "nonparametric"],
        FlagField("Tests that decide: Hati's own, or as printed in the SPL paper."),
    ] = "default"
    margin: Annotated[float, share("Tolerance of <=, >= and =, such as 2%.")] = 0.02
    alpha: Annotated[float, level("of each verdict")] = 0.01
    fail_on: Annotated[str, fail_on("violated, inconclusive")] = "violated,inconclusive"
    explain: Annotated[int | None, FlagField("Explain how the N-th formula was decided.", metavar="N", least=1)] = None
    machines: Annotated[
        tuple[str, str] | None,
        FlagField("Compare two machines (names or fingerprints) by what was measured on both.", metavar="A B"),
    ] = None
    project: Annotated[
        Path | None,
        FlagField("Folder with hati.toml, or the file [default: the nearest one around PATH].", metavar="PATH"),
    ] = None
    budget: Annotated[
        str, FlagField("Limit on measuring: a number of runs, or a time such as 2m.", metavar="RUNS|TIME")
    ] = "5m"
    seed: Seed = 1

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """The formulas of all files, then those that are given.

        Raises:
            InputError: without a formula, for a malformed one, or where the formula to explain does not exist.
        """
        from hati.core.wording import counted
        from hati.wiring.formulas.loading import formulas_in, formulas_of, together

        stated = (each for text in self.formula for each in formulas_of(text))
        found = together(chain(formulas_in(self.paths, self.project), stated))
        if not found:
            raise InputError("there is no formula", fix="name a file of formulas, or give one by --formula")
        if self.explain is not None and self.explain > len(found):
            raise InputError(
                f"--explain {self.explain}: there is {counted(len(found), 'formula')}", fix="count them from 1"
            )
        return found

    @property
    def standard(self) -> Standard:
        """The standard by which relations are decided.

        Raises:
            InputError: for a level or a margin that is not valid.
        """
        from hati.logic.interpret import Interpretation
        from hati.studies.assertion import Standard

        return Standard(Interpretation(self.interpretation), self.alpha, self.margin, self.seed)

    @property
    def failing(self) -> frozenset[FormulaVerdict]:
        """The verdicts that fail the command.

        Raises:
            InputError: for a verdict that cannot fail it.
        """
        from hati.logic.interpret import FormulaVerdict

        able = {verdict.value.lower(): verdict for verdict in FormulaVerdict if verdict is not FormulaVerdict.HOLDS}
        return parse_failing(self.fail_on, able)


class AssertionType(StudyType[AssertionRequest, "Assertion", "Assured"]):
    """The decision of formulas by measuring or by samples in files, or the comparison of two machines."""

    name, kind, section, request = "assert", "assertion", "Decide", AssertionRequest
    place_help = ""
    judges = True
    restores = False

    def refuse(self, path: Path, request: AssertionRequest, given: GivenFlags) -> None:
        """Check the levels, and refuse flags without an effect."""
        del path
        _ = request.standard, request.failing
        if request.explain is not None and given.format != "text":
            chosen = given.format
            raise InputError(
                f"--explain writes text, not {chosen}", fix=f"leave out --format, or give --report {chosen}=FILE too"
            )
        if request.machines is not None:
            compared = "--machines, which compares what was measured"
            _refuse(given, (*_OF_VERDICTS, "budget", "seed", "fresh", "dry_run"), compared)
        if request.samples:
            _refuse(given, (*(() if request.machines else _OF_MEASURING), "store"), "--samples, which are in files")
        if request.machines is not None:
            for chosen in given.formats:
                if chosen in {"junit", "github"}:
                    fix = "write text, json, markdown or html"
                    raise InputError(f"--machines gives no verdicts for {chosen}", fix=fix)
        elif not request.samples:
            if "dry_run" in given.flags:
                _refuse(given, ("report", "explain"), "--dry-run, which measures nothing")
            if request.history:
                raise InputError("--history is for --samples", fix="leave it out, or give samples of all methods")

    def root(self, path: Path, request: AssertionRequest) -> Path | None:
        """The project that the request names, or the one around its files; None for samples."""
        if request.samples:
            return None
        if request.project is not None:
            return request.project
        from hati.wiring.formulas.loading import project_around

        found = list(dict.fromkeys(project_around(each) for each in request.paths or (path,)))
        if len(found) > 1:
            raise InputError(f"the formulas are of {len(found)} projects: {found[0]}, {found[1]}", fix="say --project")
        return found[0]

    def inputs(self, path: Path, request: AssertionRequest) -> tuple[Path, ...]:
        """The files of formulas and of samples."""
        del path
        named = (each.path for each in _named_files((*request.samples, *request.history)))
        return (*request.paths, *named)

    def read(
        self, path: Path, store: str | None, request: AssertionRequest, announce: Announce, steps: Steps
    ) -> StudyReport | None:
        """The verdicts from samples, or the comparison of two machines by samples or by the store."""
        del steps
        if request.machines is not None:
            return _ported(_portability(self.root(path, request), store, request, request.machines))
        return _assured(_by_samples(request, announce), request) if request.samples else None

    def open(self, path: Path, store: str | None, request: AssertionRequest, announce: Announce) -> Workplace:
        """The project, which need not have a file; without relations nothing is measured."""
        from hati.wiring.workplace import workplace_around

        if not any(each.relations for each in request.requirements):
            return self.look(path, store, request, announce)
        return workplace_around(path, store, announce)

    def look(self, path: Path, store: str | None, request: AssertionRequest, announce: Announce) -> Workplace:
        """The project; without a store if there is none yet."""
        del request
        from hati.wiring.workplace import workplace_to_look

        return workplace_to_look(path, store, announce)

    def prepare(self, place: Workplace, request: AssertionRequest, *, fresh: bool) -> AssertionCampaign:
        """The campaign of all methods of the formulas."""
        from hati.wiring.formulas.measuring import prepare_assertion

        return prepare_assertion(place, request.requirements, request.standard, request.budget, fresh=fresh)

    def make(
        self,
        prepared: Prepared[Assertion, Assured],
        request: AssertionRequest,
        announce: Announce,
        observe: Observer,
    ) -> Assured:
        """Measure the methods, all of which must exist. The request is not stored, since a store keeps no formulas.

        Raises:
            InputError: where a function that a formula names is not in the working tree.
            MeasurementError: where nothing could be measured.
        """
        del request
        from hati.wiring.formulas.measuring import AssertionCampaign, unresolved_names

        assert isinstance(prepared, AssertionCampaign)
        for error in filter(None, unresolved_names(prepared)):
            raise error
        return prepared.make(announce, observe)

    def restore(self, stored: StoredStudy) -> Assertion:
        """Refuse, since a store keeps no formulas.

        Raises:
            InputError: always.
        """
        raise InputError(
            f"{stored.id.key} cannot be reported: a store keeps no formulas",
            fix="give the command that made it again; it takes the stored runs",
        )

    def report(
        self, place: Workplace, study: Assertion, found: Assured, request: AssertionRequest | None
    ) -> StudyReport:
        """The verdicts."""
        del place, study
        return _assured(found, request or AssertionRequest())

    def title(self, study: Assertion) -> str:
        """The measured methods."""
        del study
        return "formulas"

    def progress(self, study: Assertion, known: Evidence) -> str:
        """The number of decided formulas, if it is known before the budget is spent."""
        from hati.logic.interpret import Interpretation

        if study.standard.interpretation is not Interpretation.DEFAULT:
            return ""
        return f"{study.decided(known)} of {len(study.requirements)} decided"


def _refuse(given: GivenFlags, names: Iterable[str], where: str) -> None:
    if flag := given.first(*names):
        raise InputError(f"{flag} is not for {where}", fix="leave one of them out")


def _named_files(texts: Iterable[str]) -> list[NamedFile]:
    from hati.wiring.formulas.loading import NamedFile, split_samples

    return [NamedFile.parse(part) for text in texts for part in split_samples(text)]


def _by_samples(request: AssertionRequest, announce: Announce) -> Assured:
    from hati.logic.interpret import Interpretation
    from hati.studies.assertion import Assured, answer
    from hati.wiring.formulas.loading import book_of, unused_names

    requirements, standard = request.requirements, request.standard
    if request.history and standard.interpretation in {Interpretation.WELCH, Interpretation.PARAMETRIC}:
        raise InputError(f"--interpretation {standard.interpretation} uses no --history", fix="leave one of them out")
    book = book_of(_named_files(request.samples), _named_files(request.history))
    if unused := unused_names(requirements, book):
        announce(f"no formula is about {', '.join(unused)} of --samples")
    return Assured("", answer(requirements, book, standard), standard, (), 0, 0.0, book=book)


def _portability(
    root: Path | None, store: str | None, request: AssertionRequest, machines: tuple[str, str]
) -> Portability:
    from hati.wiring.formulas.loading import book_of
    from hati.wiring.formulas.porting import sampled_portability, stored_portability
    from hati.wiring.workplace import workplace_to_look

    requirements, confidence = request.requirements, 1.0 - 2.0 * request.alpha
    if root is None:
        return sampled_portability(book_of(_named_files(request.samples)), requirements, machines, confidence)
    return stored_portability(workplace_to_look(root, store), requirements, machines, confidence)


def _ported(found: Portability) -> StudyReport:
    from hati.document import publish
    from hati.studies.assertion.two_machines import PortabilityJson, portability_document

    return StudyReport(portability_document(found), lambda: publish(found, PortabilityJson), conclusion=found)


def _assured(found: Assured, request: AssertionRequest) -> StudyReport:
    from hati.document import publish
    from hati.studies.assertion.document import assertion_document, load_warnings
    from hati.studies.assertion.tables import AssertionJson, explanation

    known = StudyReport(
        assertion_document(found, request.standard),
        lambda: publish(found, AssertionJson),
        _status(found, request.failing),
        conclusion=found,
        unshown=load_warnings(found),
    )
    if request.explain is None:
        return known
    return replace(known, instead=explanation(found.answers[request.explain - 1], found.standard))


def _status(assured: Assured, failing: frozenset[FormulaVerdict]) -> int:
    """The exit status; if any verdict can fail the command, a formula that cannot be measured or judged does too."""
    from hati.logic.interpret import FormulaVerdict
    from hati.studies.assertion import blockers

    found = {each.verdict for each in assured.answers} & failing
    if FormulaVerdict.VIOLATED in found:
        return ExitStatus.WORSE
    if failing and any(blockers(each, assured.book) for each in assured.answers):
        return ExitStatus.NOT_MEASURED
    return ExitStatus.UNDECIDED if found else ExitStatus.OK
