"""The messages between volunteers and the server, version 1, with the limits of their fields."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct, field

PROTOCOL: Final = "1"
LARGEST_OUTPUT = 16 * 2**20
"""The largest standard output, and the largest output file, in bytes."""
LARGEST_RESULT = 48 * 2**20
"""The largest body of a result, in bytes, before and after decompression."""
LARGEST_BODY = 2**16
"""The largest body of other requests, in bytes, before and after decompression."""
_BASE64 = LARGEST_OUTPUT * 4 // 3 + 4

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(?![\s\S])", description="The name of a machine.")]
Text = Annotated[str, Meta(max_length=256)]
LongText = Annotated[str, Meta(max_length=16_384)]
Hash = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Number = Annotated[int, Meta(ge=1, le=2**53)]
Seconds = Annotated[float, Meta(ge=0.0, le=1e8)]
Instant = Annotated[float, Meta(ge=0.0, le=1e11, description="Seconds since 1970, UTC.")]


class ClientTemplate(Struct, frozen=True, kw_only=True):
    """What the owner of a machine allows: hours such as ``22-6``, memory and disk in bytes, CPU time in seconds."""

    hours: Text = ""
    memory: Number | None = None
    cpu: Seconds | None = None
    disk: Number | None = None
    processes: Number | None = None
    settings: Annotated[dict[Text, list[Text]], Meta(max_length=256)] = field(default_factory=dict)


class ClientDescription(Struct, frozen=True, kw_only=True):
    """A volunteer's machine as it is now; ``properties`` are those of a machine's state.

    ``has`` are further attributes with their values, such as its compilers.
    """

    name: Name
    os: Text
    architecture: Text
    cpus: Annotated[int, Meta(ge=1, le=65_536)]
    python: Text
    sandbox: Text
    properties: Annotated[dict[Text, Text], Meta(max_length=32)] = field(default_factory=dict)
    fingerprint: Text = ""
    template: ClientTemplate | None = None
    has: Annotated[dict[Text, list[Text]], Meta(max_length=32)] = field(default_factory=dict)


class Registration(ClientDescription, frozen=True, kw_only=True):
    """A request for a token; the invitation is from the owner of the server, or from its page.

    A machine that draws its own ``token``, of 32 random bytes, can repeat a request whose answer was lost.
    """

    invitation: Text = ""
    token: Annotated[str, Meta(pattern=r"^([A-Za-z0-9_-]{43})?(?![\s\S])")] = ""


class Registered(Struct, frozen=True):
    """The identity of a machine, and its token, which is shown once."""

    machine: str
    token: str


class ClaimMessage(Struct, frozen=True):
    """A request for work; the same ``key`` gets the same lease again."""

    key: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{8,64}(?![\s\S])")]
    client: ClientDescription


class SignedRelease(Struct, frozen=True):
    """The statement of a benchmark, and its Ed25519 signature in base64."""

    statement: str
    signature: str


class ArtefactReference(Struct, frozen=True):
    """An artefact by its content, and its size in bytes."""

    sha256: str
    bytes: int


class EnvelopeFile(Struct, frozen=True):
    """A rendered configuration file: the path's template as it is signed, and the text."""

    path: str
    text: str


class EnvelopeJob(Struct, frozen=True):
    """A job: the id of its task, and values for the signed templates."""

    task: str
    settings: dict[str, str]
    values: dict[str, str]
    files: tuple[EnvelopeFile, ...] = ()


class Envelope(Struct, frozen=True, tag_field="format", tag="hati-envelope-1"):
    """The work of a lease, for one machine; no job of it may begin after ``expires``, in seconds since 1970."""

    study: str
    audience: str
    expires: float
    release: SignedRelease
    artefact: ArtefactReference
    jobs: tuple[EnvelopeJob, ...]
    order: str


class LeasedBatch(Struct, frozen=True):
    """A batch that is leased to a machine until a time, and for how many seconds each renewal extends it."""

    batch: int
    attempt: int
    until: float
    seconds: float
    envelope: Envelope


class Claimed(Struct, frozen=True):
    """The answer to a claim."""

    lease: LeasedBatch


class AttemptReference(Struct, frozen=True):
    """A lease, by its batch and attempt."""

    batch: Number
    attempt: Number


class Renewed(Struct, frozen=True):
    """The new end of a lease; ENDING asks to stop after the job under way."""

    until: float
    state: str


class RawOutcome(StrEnum):
    """How a job ended on a volunteer."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    NOT_STARTED = "not_started"
    NOT_BUILT = "not_built"


class RawUsage(Struct, frozen=True):
    """Resources of the command's process tree: times in seconds, ``peak`` memory in bytes, numbers of switches."""

    wall: Seconds
    user: Seconds
    system: Seconds
    peak: Count
    voluntary: Count
    involuntary: Count
    load: Annotated[float, Meta(ge=0.0, le=1e6)] = 0.0


class ResultMessage(Struct, frozen=True):
    """The raw result of a job; ``stdout`` and ``output`` are in base64, ``digest`` is the SHA-256 of ``stdout``."""

    batch: Number
    attempt: Number
    task: Annotated[str, Meta(pattern=r"^[0-9a-f]{16,64}(?![\s\S])")]
    began: Instant
    seconds: Seconds
    outcome: RawOutcome
    digest: Hash
    detail: LongText = ""
    stdout: Annotated[str, Meta(max_length=_BASE64)] = ""
    output: Annotated[str, Meta(max_length=_BASE64)] | None = None
    status: Annotated[int, Meta(ge=-(2**31), le=2**31)] | None = None
    usage: RawUsage | None = None


class Accepted(Struct, frozen=True):
    """Whether a result counts: accepted, reported (others have to agree), late (the lease was lost) or duplicate."""

    accepted: str


class EndOutcome(StrEnum):
    """Why the rest of a batch is given back."""

    RETURNED = "returned"
    FAILED = "failed"


class End(Struct, frozen=True):
    """The rest of a batch is given back, with the reason."""

    batch: Number
    attempt: Number
    outcome: EndOutcome
    reason: LongText = ""


class Ended(Struct, frozen=True):
    """The answer to an end."""

    ended: bool


class PublicKey(Struct, frozen=True):
    """The owner's public keys in base64, 32 bytes each: the one that signed last, and all."""

    key: str
    keys: tuple[str, ...] = ()


class Problem(Struct, frozen=True):
    """Why a request was refused, and what to do."""

    error: str
    fix: str
