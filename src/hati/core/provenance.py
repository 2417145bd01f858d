"""The origin of measurements: the machine with its states, and the revision of the subject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from hati.core.errors import InputError, Place
from hati.core.study import digest
from hati.core.wording import LINE, shortened


class MachineState(Struct, frozen=True, dict=True):
    """Observed properties of a machine: pairs of name and value, sorted by name.

    ``since`` is when it was first observed, None where that is not known.
    """

    properties: tuple[tuple[str, str], ...]
    since: datetime | None = None

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the properties; runs carry it as their machine."""
        return digest(self.properties, length=12)

    @property
    def name(self) -> str:
        """The machine's name, else the fingerprint."""
        return dict(self.properties).get(MACHINE_NAME) or self.fingerprint

    @property
    def hardware(self) -> tuple[str, ...]:
        """The properties that an upgrade of the system leaves as they are; empty where one is not known.

        The class is one of them: a volunteer's word does not make it a machine of another class.
        """
        known = dict(self.properties)
        if any(name not in known for name in _HARDWARE):
            return ()
        return tuple(known[name] for name in (*_HARDWARE, MACHINE_CLASS) if name in known)

    def changes(self, later: MachineState) -> tuple[str, ...]:
        """A text for each property that differs later, such as ``kernel changed from 6.1 to 6.8``."""
        before, after = dict(self.properties), dict(later.properties)
        return tuple(
            f"{name} changed from {before[name]} to {after[name]}"
            for name in before
            if name in after and before[name] != after[name]
        )


MACHINE_NAME = "name"
"""The property that holds a machine's name: its host's, or the one that it was given."""
MACHINE_CLASS = "class"
"""The property that holds the class of a machine that is not the owner's own."""
VOLUNTEER = "volunteer"
"""The class of machines that the server of volunteers registered."""
MACHINE_PROPERTIES = ("architecture", "cpus", "kernel", "memory", "processor", "system")
"""The properties of a machine's state, apart from its name."""
_HARDWARE = (MACHINE_NAME, "architecture", "cpus", "processor")


class Machine(Struct, frozen=True, dict=True):
    """A machine with every state in which it was observed, the present one last.

    The fingerprint of the first state is its permanent identity: studies begun on it carry it, whatever changes later.
    """

    states: tuple[MachineState, ...]

    def __post_init__(self) -> None:
        if not self.states:
            raise InputError("a machine needs a state")

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Machine:
        """A machine that is known by one state."""
        return cls((MachineState(tuple(sorted(properties.items()))),))

    @property
    def id(self) -> str:
        """The identity, which studies carry."""
        return self.states[0].fingerprint

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the present state, which runs carry."""
        return self.states[-1].fingerprint

    @property
    def name(self) -> str:
        """The name of the present state."""
        return self.states[-1].name

    @property
    def properties(self) -> tuple[tuple[str, str], ...]:
        """The properties of the present state."""
        return self.states[-1].properties

    @cached_property
    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprints of all states, each once: studies and runs that carry one of them are this machine's."""
        return tuple(dict.fromkeys(state.fingerprint for state in self.states))

    def in_state(self, state: MachineState) -> Machine:
        """The machine with that state as the present one; a state that it had before keeps its time."""
        own = next((each for each in self.states if each.fingerprint == state.fingerprint), state)
        others = (each for each in self.states[1:] if each.fingerprint != own.fingerprint)
        return self if own == self.states[-1] else Machine((self.states[0], *others, own))

    def with_states_of(self, others: Iterable[Machine]) -> Machine:
        """The machine with the states of those others that are the same machine, such as its earlier identities.

        Machines are the same if they share a fingerprint, or have equal name, architecture, processor and number of
        CPUs.
        """
        hardware = {state.hardware for state in self.states} - {()}
        found = {state.fingerprint: state for state in self.states}
        for other in others:
            if set(other.fingerprints) & set(self.fingerprints) or hardware & {each.hardware for each in other.states}:
                found = {state.fingerprint: state for state in other.states} | found
        mine = {state.fingerprint for state in self.states}
        added = [state for fingerprint, state in found.items() if fingerprint not in mine]
        return Machine((self.states[0], *added, *self.states)) if added else self


class MachineOption(Struct, frozen=True):
    """An option whose settings a machine has, such as its compiler: nobody sets it.

    ``attribute`` is the name under which a machine says what it has: that of a property of its state, or the option's.
    ``command`` finds it on a machine, without a shell: with ``{}`` it ends with status 0 for each setting that is
    there, and without ``{}`` it prints the setting. It is empty for a property. ``place`` is where the project says so.
    """

    option: str
    attribute: str
    command: tuple[str, ...] = ()
    place: Place | None = None


_SHOWN = 12


class RevisionKind(StrEnum):
    """Where a revision comes from."""

    GIT = "git"
    SVN = "svn"
    DIRECTORY = "directory"
    PACKAGE = "package"


class Revision(Struct, frozen=True):
    """A version of the subject: ``id`` identifies its content permanently; tasks carry it.

    It is a commit's whole hash, ``r`` and the number of an svn revision, a hash of a folder's content, or
    ``name==version`` of a package. ``name`` is what people call it, such as a branch, or the id; ``title`` describes
    it, such as the first line of a commit's message; ``made`` is when it was committed. ``given`` is the name in the
    request, for text, of a revision that was found without one: the last of a range. ``tag`` is a tag of the commit.
    """

    id: str
    kind: RevisionKind
    name: str = ""
    title: str = ""
    made: datetime | None = None
    given: str = ""
    tag: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            raise InputError("a revision needs an id")

    @property
    def short(self) -> str:
        """A commit's abbreviated hash; the whole id of other kinds of revisions."""
        return self.id[:_SHOWN] if self.kind is RevisionKind.GIT else self.id

    @property
    def caption(self) -> str:
        """The revision with its title, shortened to a line of text; empty without a title."""
        return shortened(f"{self}: {self.title}", LINE) if self.title else ""

    def __str__(self) -> str:
        name = self.name or ("" if self.id.startswith(self.given) else self.given) or self.tag
        return self.short if name in {"", self.id, self.short} else f"{name} ({self.short})"
