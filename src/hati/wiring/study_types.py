"""Kinds of studies: each says what it is asked, how it is prepared, and how it is reported; one table of them.

What is common to all is done once, for every kind alike: the command with its flags, resuming, the dry run, keeping,
reporting what a store holds. Packages add kinds by an entry point of the group ``hati.studies``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_type_hints

from msgspec import Struct

from hati.core import FlagField, InputError, PositionalField, replace
from hati.packages import added, load_entry

if TYPE_CHECKING:
    from hati.campaign import Observer
    from hati.core import Study
    from hati.report import Document
    from hati.wiring.campaigns import Campaign
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace

GROUP = "hati.studies"
"""The entry points of other packages."""
SECTIONS = ("Model", "Measure", "Decide", "Follow", "Share")
"""What commands are for, in the help."""

R = TypeVar("R", bound=Struct)
S = TypeVar("S", bound="Study[Any]")
C = TypeVar("C")


def _nothing() -> None:
    """Do nothing."""


class StudyReport(Struct, frozen=True):
    """What is written of a conclusion: a document, what is published of it as JSON, and the exit status of the command.

    ``remarks`` are warnings that the document does not have; ``spoken`` are sentences that people must have, besides
    the answer, where the report cannot be written; ``written`` is done once they have it; ``kept`` names the file of a
    page that is kept beside it, empty: none.
    """

    document: Document
    values: Callable[[], Struct]
    status: int = 0
    remarks: tuple[str, ...] = ()
    spoken: tuple[str, ...] = ()
    written: Callable[[], None] = _nothing
    kept: str = ""


class StudyType(ABC, Generic[R, S, C]):
    """One kind of study: ``name`` is its verb, ``kind`` what a store calls it, which never changes.

    ``request`` is a frozen Struct, whose docstring, fields, defaults and flags make its command. ``section`` is where
    the help lists the verb. ``judges`` is whether its documents have test cases. ``metrics_apart`` is whether a report
    may be of another metric than was asked for; ``unrecorded`` is what records do not have where they do not keep what
    was asked; ``afresh`` is whether a finished study is measured again by the same command.
    ``published`` is the type that another package has of what ``--format json`` writes; its tag field is ``format``.
    """

    name: str
    kind: str
    request: type[R]
    section: str = "Measure"
    judges: bool = False
    metrics_apart: bool = False
    afresh: bool = False
    unrecorded: tuple[str, ...] = ()
    published: type[Struct] | None = None

    def open(self, path: Path, store: str | None, request: R, announce: Announce) -> Workplace:
        """The project at a path, and its store; where the request has a template, narrowed by it.

        Raises:
            InputError: for all that is wrong with it.
        """
        from hati.wiring.templates import narrowed_workplace
        from hati.wiring.workplace import workplace

        return narrowed_workplace(workplace(path, store, announce), getattr(request, "template", ()), announce)

    @abstractmethod
    def prepare(self, place: Workplace, request: R, *, fresh: bool) -> Campaign[S, C]:
        """Find the campaign to go on with, or number a new one.

        Raises:
            InputError: where the request does not fit the project.
        """

    @abstractmethod
    def restore(self, stored: StoredStudy) -> S:
        """The study as a store holds it, to be concluded without measuring.

        Raises:
            InputError: where the project no longer fits it.
        """

    @abstractmethod
    def report(self, place: Workplace, study: S, found: C, request: R | None) -> StudyReport:
        """What is written of a conclusion; ``request`` is None where a record does not have what was asked."""

    def concluded(self, prepared: Campaign[S, C], request: R, found: C) -> StudyReport:
        """The same of one that was measured now."""
        from hati.wiring.machines import with_machines

        made = self.report(prepared.place, prepared.study, found, request)
        return with_machines(prepared.place, made, prepared.study.id.key)

    def missing(self, stored: StoredStudy) -> tuple[str, ...]:
        """What a report takes from the defaults, as the record of the study does not have it."""
        return () if stored.asked(self.request) else self.unrecorded

    def make(self, prepared: Campaign[S, C], request: R, announce: Announce, observe: Observer) -> C:
        """Make a campaign, or what is left of it, keep what was asked with it, and conclude.

        Raises:
            MeasurementError: where too little could be measured for a conclusion.
        """
        from hati.wiring.campaigns import make_campaign, with_asked

        return make_campaign(replace(prepared, kept=with_asked(prepared.kept, request)), announce, observe)

    def title(self, study: S) -> str:
        """What its progress is called."""
        del study
        return self.name

    def nothing_left(self, prepared: Campaign[S, C]) -> str:
        """What is said where nothing is measured, as all runs are there."""
        return f"{prepared.study.id.key} was measured before; --fresh measures again"


AnyStudyType = StudyType[Any, Any, Any]

_OWN = {
    "bisection": "bisection:BisectionType",
    "effect-drift": "effect_drift:EffectDriftType",
    "gate": "gate:GateType",
    "measurement": "measurement:MeasurementType",
    "paired": "paired:PairedType",
    "replay": "replay:ReplayType",
    "suite": "suite:SuiteType",
    "validation": "validation:ValidationType",
}
"""Hati's own, by what a store calls them."""


@cache
def own_type(kind: str) -> AnyStudyType:
    """The kind of Hati's own that a store calls so."""
    module, name = _OWN[kind].split(":")
    made: AnyStudyType = getattr(import_module(f"hati.wiring.kinds.{module}"), name)()
    return made


def _checked(found: object) -> AnyStudyType:
    """A kind of another package, as far as its command can be made.

    Raises:
        InputError: where it cannot.
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
    if not format_of(kind.published):
        raise InputError(f'its published type {kind.published!r} is not a msgspec Struct with tag_field="format"')
    for name, hint in get_type_hints(kind.request, include_extras=True).items():
        if name in _TAKEN:
            raise InputError(f"its request has a field {name!r}, which all commands have")
        if not any(isinstance(each, FlagField | PositionalField) for each in getattr(hint, "__metadata__", ())):
            raise InputError(f"the field {name!r} of its request has neither a FlagField nor a PositionalField")
    return kind


_TAKEN = frozenset({"path", "project", "store", "fresh", "dry_run", "output", "report", "chosen", "format"})
"""The parameters of all commands."""


@cache
def _loaded(entry: EntryPoint) -> AnyStudyType:
    return load_entry(entry, "study", _checked)


def format_of(published: object) -> str:
    """The format that a published type says it has; empty where it has none."""
    config = getattr(published, "__struct_config__", None)
    return str(config.tag) if config is not None and config.tag_field == "format" else ""


def other_types() -> tuple[list[AnyStudyType], list[str]]:
    """Those of other packages, and why some cannot be loaded."""
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
    """Hati's own, then those of other packages that can be loaded."""
    return (*map(own_type, _OWN), *other_types()[0])


def study_type(kind: str) -> AnyStudyType | None:
    """The kind that a store calls so; None where there is none."""
    if kind in _OWN:
        return own_type(kind)
    return next((each for each in other_types()[0] if each.kind == kind), None)


def verb_of(kind: str) -> str:
    """The command that makes studies of a kind."""
    known = study_type(kind)
    return _COMMANDS.get(kind, kind) if known is None else known.name


_COMMANDS = {"assertion": "assert", "recommendation": "screen --recommend", "screening": "screen"}
"""Kinds that have commands of their own."""
