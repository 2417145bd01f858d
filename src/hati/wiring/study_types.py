"""Kinds of studies, each with its request, preparation and report, and the table of all kinds.

What is common to all kinds is implemented once: the command with its flags, resuming, the dry run, storing, and
reports from a store. Packages add kinds by an entry point of the group ``hati.studies``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final, get_type_hints

from msgspec import Struct

from hati.core import FlagField, InputError, PositionalField, TableFields, convert, replace
from hati.packages import added, load_entry
from hati.wiring.study_machines import with_load, with_machines

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from hati.campaign import Observer
    from hati.core import Evidence, Study
    from hati.document import Document
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace


GROUP = "hati.studies"
"""The group of the entry points of other packages."""
SECTIONS = ("Model", "Measure", "Decide", "Follow", "Share")
"""The sections of commands in the help."""
STATISTIC = "statistic (here the mean)"
"""What records without the request lack, unless the study chose a statistic."""

PROJECT = "Folder with hati.toml, or the file."
PROJECT_OR_TABLE = "Folder with hati.toml, the file, or a table (CSV, Parquet, measurements.xml)."

R = TypeVar("R", bound=Struct)
S = TypeVar("S", bound="Study[Any]")
C = TypeVar("C")


def _nothing() -> None:
    """Do nothing."""


class StudyReport(Struct, frozen=True):
    """The output for a conclusion: a document, its published JSON, and the exit status of the command.

    ``conclusion`` is the value for callers, None: that of the study. ``remarks`` are warnings that the document lacks;
    ``unshown`` are warnings that only plain values lack. ``instead`` is a text that replaces the document, empty: none.
    ``spoken`` are sentences that people must see even if the report cannot be written; ``written`` is called once the
    report is written; ``kept`` names the file of a page that is kept in addition, empty: none.
    """

    document: Document
    values: Callable[[], Struct]
    status: int = 0
    conclusion: Any = None
    unshown: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    instead: str = ""
    spoken: tuple[str, ...] = ()
    written: Callable[[], None] = _nothing
    kept: str = ""


class GivenFlags(Struct, frozen=True):
    """The given arguments of a command line or a call: ``flags`` by the names of parameters, and output ``formats``.

    The first format is that of the document.
    """

    flags: Mapping[str, str]
    formats: tuple[str, ...] = ("text",)

    @property
    def format(self) -> str:
        """The format of the document."""
        return self.formats[0]

    def first(self, *names: str) -> str:
        """The flag of the first of these parameters that is given, whatever its value; empty if none is."""
        return next((self.flags[name] for name in names if name in self.flags), "")


Steps = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Shows the progress of a computation in steps, under a title."""


def unseen(_: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """Show no steps."""
    return nullcontext(lambda _done, _steps: None)


class StudyType(ABC, Generic[R, S, C]):
    """One kind of study: ``name`` is its command, ``kind`` its name in stores, which never changes.

    ``request`` is a frozen Struct whose docstring, fields, defaults and flags define the command. ``section`` is where
    the help lists the command; ``place_help`` is the help of PATH, empty: the request names the project. ``judges``:
    its documents have test cases. ``metrics_apart``: a report may be of another metric than the request's.
    ``unrecorded`` names what records without the request lack. ``restores``: a store has all that a report needs.
    ``afresh``: the same command measures a finished study again. ``published`` is the type, of another package, that
    ``--format json`` writes; its tag field is ``format``. ``lent``: volunteers may run its tasks, since it decides no
    verdict on a change or a requirement.
    """

    name: str
    kind: str
    request: type[R]
    section: str = "Measure"
    place_help: str = PROJECT
    judges: bool = False
    metrics_apart: bool = False
    restores: bool = True
    afresh: bool = False
    lent: bool = False
    unrecorded: tuple[str, ...] = ()
    published: type[Struct] | None = None

    def refuse(self, path: Path, request: R, given: GivenFlags) -> None:
        """Refuse arguments without an effect on the request.

        Raises:
            InputError: where there are any.
        """

    def root(self, path: Path, request: R) -> Path | None:
        """The project that is measured; None if files have all measurements.

        Raises:
            InputError: where the project is ambiguous.
        """
        del request
        return path

    def inputs(self, path: Path, request: R) -> tuple[Path, ...]:
        """The files that are read, which no report may replace.

        Raises:
            InputError: where these files do not exist.
        """
        del request
        return (path,)

    def read(self, path: Path, store: str | None, request: R, announce: Announce, steps: Steps) -> StudyReport | None:
        """The report if the request's files have all measurements; else None.

        Raises:
            InputError: where the files cannot be read.
        """
        del path, store, request, announce, steps
        return None

    def open(self, path: Path, store: str | None, request: R, announce: Announce) -> Workplace:
        """The project at a path with its store, narrowed by the template of the request if it has one.

        If the request has the fields of tables, the path may be a table.

        Raises:
            InputError: for any error in it.
        """
        from hati.wiring.workplace import workplace

        if isinstance(request, TableFields):
            from hati.wiring.table import open_subject

            asked: Any = request
            others = self.other_metrics(request)
            place = open_subject(path, store, request, asked.metric, asked.budget, announce, others)
        else:
            place = workplace(path, store, announce)
        template: tuple[str, ...] = getattr(request, "template", ())
        if not template:
            return place
        from hati.wiring.templates import narrowed_workplace

        return narrowed_workplace(place, template, announce)

    def other_metrics(self, request: R) -> tuple[str, ...]:
        """The metrics of a table that are read in addition to the request's."""
        del request
        return ()

    def look(self, path: Path, store: str | None, request: R, announce: Announce) -> Workplace:
        """As ``open``, for commands that measure nothing."""
        return self.open(path, store, request, announce)

    @abstractmethod
    def prepare(self, place: Workplace, request: R, *, fresh: bool) -> Prepared[S, C]:
        """Find the campaign to resume, or number a new one.

        Raises:
            InputError: where the request does not fit the project.
        """

    @final
    def check_engine(self, place: Workplace) -> None:
        """Check that the machines of the workplace's engine may decide this kind of study.

        Raises:
            InputError: where volunteers would decide a verdict.
        """
        from hati.project import VOLUNTEERS

        if place.by_workers and place.project.engine == VOLUNTEERS and not self.lent:
            raise InputError(
                f"`hati {self.name}` decides on a verdict, and volunteers' numbers never do",
                fix="use --engine local or workers; volunteers may do `run`, `screen` and `failures`",
            )

    @abstractmethod
    def restore(self, stored: StoredStudy) -> S:
        """The stored study, to be concluded without measuring.

        Raises:
            InputError: where the project no longer fits it.
        """

    @abstractmethod
    def report(self, place: Workplace, study: S, found: C, request: R | None) -> StudyReport:
        """The report of a conclusion; ``request`` is None where a record lacks it."""

    def measured_report(self, prepared: Prepared[S, C], request: R, found: C) -> StudyReport:
        """The report of a study that was measured now."""
        return self.report(prepared.place, prepared.study, found, request)

    @final
    def concluded(self, prepared: Prepared[S, C], request: R, found: C, warning: str = "") -> StudyReport:
        """The report of a study that was measured now, with its machines if there are several.

        ``warning`` is on what disturbed the measurements.
        """
        made = _declared(self, self.measured_report(prepared, request, found))
        if warning:
            made = replace(made, document=replace(made.document, warnings=(*made.document.warnings, warning)))
        made = with_load(prepared.place, made, *self.measured(prepared.study, found))
        return with_machines(prepared.place, made, prepared.study.id.key)

    def measured(self, study: S, found: C) -> tuple[str, ...]:
        """The keys of the studies whose disturbed runs its report warns of."""
        del found
        return (study.id.key,)

    def reported(self, stored: StoredStudy) -> StudyReport:
        """The report of a stored study.

        Raises:
            InputError: where the project no longer fits it.
            MeasurementError: where it measured too little.
        """
        place, study = stored.place, self.restore(stored)
        evidence = place.store.evidence(study.id)
        found = study.conclude(evidence)
        made = _declared(self, self.report(place, study, found, stored.asked(self.request)))
        made = with_load(place, made, *self.measured(study, found), known={study.id.key: evidence.runs})
        return with_machines(place, made, study.id.key)

    def missing(self, stored: StoredStudy) -> tuple[str, ...]:
        """The values that a report takes from the defaults because the study's record lacks them."""
        if stored.asked(self.request):
            return ()
        return tuple(each for each in self.unrecorded if each != STATISTIC or not stored.choices().rows)

    def make(self, prepared: Prepared[S, C], request: R, announce: Announce, observe: Observer) -> C:
        """Run a campaign, or the rest of it, keep the request with it, and conclude.

        Raises:
            MeasurementError: where too few runs succeeded for a conclusion.
        """
        return prepared.make(announce, observe, request)

    def title(self, study: S) -> str:
        """The title of its progress."""
        del study
        return self.name

    def progress(self, study: S, known: Evidence) -> str:
        """Its progress in addition to the number of runs; empty for none."""
        del study, known
        return ""

    def nothing_left(self, prepared: Prepared[S, C]) -> str:
        """The message if nothing is measured because all runs exist; empty for none."""
        return f"{prepared.study.id.key} was measured before; --fresh measures again"


def convert_request(values: Mapping[str, Any], request: type[R]) -> R:
    """A request from plain values by the names of its fields.

    Raises:
        ValidationError: of msgspec, where a field is missing or has another type.
    """
    return convert(values, request, dec_hook=lambda kind, value: kind(value))


AnyStudyType = StudyType[Any, Any, Any]

_OWN = {
    "assertion": "assertion:AssertionType",
    "audit": "audit:AuditType",
    "bisection": "bisection:BisectionType",
    "effect-drift": "effect_drift:EffectDriftType",
    "failures": "failures:FailuresType",
    "gate": "gate:GateType",
    "measurement": "measurement:MeasurementType",
    "paired": "paired:PairedType",
    "replay": "replay:ReplayType",
    "screening": "screening:ScreeningType",
    "suite": "suite:SuiteType",
    "validation": "validation:ValidationType",
}
"""Hati's own kinds, by their names in stores."""


@cache
def own_type(kind: str) -> AnyStudyType:
    """Hati's own kind with this name in stores."""
    module, name = _OWN[kind].split(":")
    made: AnyStudyType = getattr(import_module(f"hati.wiring.kinds.{module}"), name)()
    return made


def _checked(found: object) -> AnyStudyType:
    """A kind of another package, checked so that its command can be defined.

    Raises:
        InputError: where it cannot be.
    """
    kind = found() if isinstance(found, type) else found
    if not isinstance(kind, StudyType):
        raise InputError(f"{kind!r} is not a StudyType")
    if kind.section not in SECTIONS:
        raise InputError(f"its section {kind.section!r} is not one of {', '.join(SECTIONS)}")
    if kind.kind in _OWN or kind.kind in _COMMANDS or kind.name in {*map(verb_of, _OWN), *_COMMANDS.values()}:
        raise InputError(f"Hati has studies called {kind.name!r} or {kind.kind!r} already")
    if not issubclass(kind.request, Struct):
        raise InputError(f"its request {kind.request!r} is not a msgspec Struct")
    if kind.published is None:
        raise InputError('it names no published type: the Struct of its JSON, with tag_field="format"')
    if not format_of(kind.published):
        raise InputError(f'its published type {kind.published!r} is not a msgspec Struct with tag_field="format"')
    for name, hint in get_type_hints(kind.request, include_extras=True).items():
        if name in _TAKEN:
            raise InputError(f"its request has a field {name!r}, which all commands have")
        if not any(isinstance(each, FlagField | PositionalField) for each in getattr(hint, "__metadata__", ())):
            raise InputError(f"the field {name!r} of its request has neither a FlagField nor a PositionalField")
    return kind


_TAKEN = frozenset({"context", "path", "project", "store", "fresh", "dry_run", "output", "report", "chosen", "format"})
"""The parameters of all commands."""


@cache
def _loaded(entry: EntryPoint) -> AnyStudyType:
    return load_entry(entry, "study", _checked)


def _declared(kind: AnyStudyType, report: StudyReport) -> StudyReport:
    """The report with a check that its published value has the type that the kind names."""
    declared, values = kind.published, report.values
    if declared is None:
        return report

    def checked() -> Struct:
        value = values()
        if not isinstance(value, declared):
            found = f"the study {kind.name!r} publishes a {type(value).__name__}, not a {declared.__name__}"
            raise InputError(found, fix="correct its package: StudyReport.values gives a value of its published type")
        return value

    return replace(report, values=checked)


def format_of(published: object) -> str:
    """The format of a published type; empty without one."""
    config = getattr(published, "__struct_config__", None)
    return str(config.tag) if config is not None and config.tag_field == "format" else ""


def other_types() -> tuple[list[AnyStudyType], list[str]]:
    """The kinds of other packages, and why some cannot be loaded."""
    found: dict[str, AnyStudyType] = {}
    wrong: list[str] = []
    for entry in added(GROUP):
        try:
            kind = _loaded(entry)
        except InputError as error:
            wrong.append(str(error))
            continue
        if kind.name in found or any(kind.kind == each.kind for each in found.values()):
            wrong.append(f"the study {entry.name!r} of {entry.value} is left out: another package has {kind.name!r}")
        else:
            found[kind.name] = kind
    return list(found.values()), wrong


def known_types() -> tuple[AnyStudyType, ...]:
    """Hati's own kinds, then those of other packages that can be loaded."""
    return (*map(own_type, _OWN), *other_types()[0])


def study_type(kind: str) -> AnyStudyType | None:
    """The kind with this name in stores; None where there is none."""
    if kind in _OWN:
        return own_type(kind)
    return next((each for each in other_types()[0] if each.kind == kind), None)


def verb_of(kind: str) -> str:
    """The command for studies of a kind."""
    known = study_type(kind)
    return _COMMANDS.get(kind, kind) if known is None else known.name


_COMMANDS = {"recommendation": "screen --recommend"}
"""Kinds without a command of their own, and the commands that run them."""
