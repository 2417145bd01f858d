"""What the server does for each request: from the messages of volunteers to the store's ledger."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct

from hati.core import InputError, Job, Machine, MachineState, Outcome, Resources, convert, replace, setting_text
from hati.core.provenance import MACHINE_CLASS, MACHINE_NAME, VOLUNTEER
from hati.gateway.group_commit import GroupCommit
from hati.gateway.messages import (
    LARGEST_OUTPUT,
    Accepted,
    ArtefactReference,
    AttemptReference,
    Claimed,
    ClaimMessage,
    ClientDescription,
    ClientTemplate,
    End,
    Ended,
    EndOutcome,
    Envelope,
    EnvelopeJob,
    LeasedBatch,
    PublicKey,
    RawOutcome,
    RawUsage,
    Registered,
    Registration,
    Renewed,
    ResultMessage,
    SignedRelease,
)
from hati.steering import Choose, Client, ClientKind, Queue, SteeringDecision, choose, hardware_class
from hati.store import LEASE_SECONDS, AttemptOutcome, EntryKind, Lease, Ledger, Release, SqlStore, Volunteer, Volunteers
from hati.store.volunteers import token_hash
from hati.subject.releases import job_content, release_key, unsigned_value
from hati.subject.running.results import RawResult, run_of_result

ENVELOPE_SECONDS = 86_400.0
"""The time within which the jobs of an envelope must begin."""
CODE_SECONDS = 3_600.0
"""The time for which a code from the page registers a machine."""
_SOONEST_SECONDS, _LATEST_SECONDS = 1.0, 10.0
"""When a machine without work asks again: right after a result, and at the latest."""
_SKEW_SECONDS = 86_400.0
"""The largest difference of a volunteer's clock from the ledger's."""
_MOST_CODES = 1_000
MOST_MACHINES = 20_000
"""The number of machines with a valid token from which on no more are registered."""
MOST_KEPT = 1_000
"""The number of leases that are kept in memory."""
MOST_STATES = 100
"""The number of states, such as versions of its system, in which a machine is stored."""
_OUTCOMES = {
    RawOutcome.COMPLETED: Outcome.DONE,
    RawOutcome.FAILED: Outcome.FAILED,
    RawOutcome.TIMEOUT: Outcome.TIMEOUT,
    RawOutcome.NOT_STARTED: Outcome.NOT_STARTED,
    RawOutcome.NOT_BUILT: Outcome.NOT_BUILT,
}


class Refusal(Exception):  # noqa: N818 - an answer, not a fault
    """A refused request: the HTTP status, what is wrong, what to do, and after how many seconds to ask again."""

    def __init__(self, status: int, error: str, fix: str, retry: float | None = None) -> None:
        super().__init__(error)
        self.status, self.error, self.fix, self.retry = status, error, fix, retry


class Setup(Struct, frozen=True):
    """How a server works: the ``invitation`` to register, empty where anybody may, and the seconds of a lease.

    ``choose`` chooses among the waiting batches.
    """

    invitation: str = ""
    lease: float = LEASE_SECONDS
    choose: Choose = choose


class Gateway:
    """Answers the requests of volunteers, from several threads; all that must not be lost is in the store."""

    def __init__(self, store: SqlStore, setup: Setup, clock: Callable[[], float] = time.time) -> None:
        self._store, self._setup, self._clock = store, setup, clock
        self._codes: dict[str, tuple[str, float]] = {}
        self._worked: dict[str, float] = {}
        self._known: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {}
        self._given: dict[tuple[int, int], Lease] = {}
        self._lock = Lock()
        self._together = GroupCommit(store.at_once)

    def holder(self, token: str) -> Volunteer:
        """The machine of a token.

        Raises:
            Refusal: for an unknown or revoked token.
        """
        found = self._store.volunteers.holder(token) if token else None
        if found is None:
            raise Refusal(401, "the token is unknown or revoked", "register this machine again, with an invitation")
        return found

    def register(self, message: Registration) -> Registered:
        """Register a machine; the same request again is answered in the same way.

        Raises:
            Refusal: where the invitation is not valid, or the name is taken.
        """
        known = self._store.volunteers.holder(message.token) if message.token else None
        if known is not None and known.name == message.name:
            return Registered(known.machine, message.token)
        self._check_invitation(message)
        if self._store.volunteers.number() >= MOST_MACHINES:
            raise Refusal(403, f"{MOST_MACHINES:,} machines are registered", "ask the owner to revoke some")
        machine = Machine((_state(message, message.name, self._clock()),))
        token = message.token or secrets.token_urlsafe(32)
        if known is not None or not self._store.volunteers.register(
            message.name, machine.id, token, _described(message)
        ):
            raise Refusal(
                409,
                f"a machine named {message.name} is registered",
                "choose another name, or ask the owner for `hati grid revoke` of it",
            )
        self._store.keep_machines([machine])
        return Registered(machine.id, token)

    def invite(self, name: str, invitation: str) -> str:
        """A code with which one machine can register under a name, for an hour.

        Raises:
            Refusal: where the invitation is not valid.
        """
        if not self._invited(invitation):
            raise _not_invited()
        code = secrets.token_urlsafe(16)
        with self._lock:
            now = self._clock()
            known = {key: each for key, each in self._codes.items() if each[1] > now}
            if len(known) >= _MOST_CODES:
                raise Refusal(429, "too many codes were given out", "use one of them, or wait an hour", CODE_SECONDS)
            self._codes = {**known, token_hash(code): (name, now + CODE_SECONDS)}
        return code

    def claim(self, volunteer: Volunteer, message: ClaimMessage) -> Claimed | None:
        """Lease a batch to a machine, or repeat its lease; None where there is none for it.

        Raises:
            Refusal: where its token is of another machine, or it did not complete the last batches that it had.
        """
        if message.client.name != volunteer.name:
            raise Refusal(403, "this token is of another machine", f"send the name {volunteer.name}")
        self._observe(volunteer, message.client)
        about = (volunteer.machine, volunteer.name, message.client.cpus, (), ClientKind.VOLUNTEER)
        client = Client(*about, _hardware(message.client), _attributes(message.client))
        self._record_client(client)
        worker = f"{volunteer.name}/{message.key}"

        def claimed(ledger: Ledger, volunteers: Volunteers) -> tuple[Lease | None, tuple[Release, int] | None, float]:
            choice = self._choice(message.client.template, ledger)
            lease = ledger.claim(worker, client, choice, self._setup.lease)
            if lease is None:
                return None, None, ledger.backoff(volunteer.machine)
            job = lease.batch.members[0]
            return lease, volunteers.release(release_key(job.benchmark, job.sources)), 0.0

        lease, signed, wait = self._together.do(claimed)
        if lease is None:
            if wait:
                raise Refusal(
                    429,
                    "this machine did not complete the last batches that it had",
                    f"wait {math.ceil(wait)} s; see that it stays on, and has what the benchmark needs",
                    wait,
                )
            return None
        try:
            given = Claimed(self._leased(volunteer, lease, signed))
        except InputError as error:  # signed releases changed after the batch was released
            self._store.ledger.withdraw(lease.number)  # so that its campaign looks what is signed
            self._store.ledger.end(lease, AttemptOutcome.RETURNED, str(error))
            return None
        self._remember(lease)
        return given

    def renew(self, volunteer: Volunteer, message: AttemptReference) -> Renewed:
        """Extend a lease.

        Raises:
            Refusal: where it is lost, or of another machine.
        """
        lease = self._lease(volunteer, message.batch, message.attempt)
        state = self._together.do(lambda ledger, _: ledger.renew(lease, self._setup.lease))
        if state is None:
            raise _lost()
        return Renewed(self._clock() + self._setup.lease, state.value)

    def result(self, volunteer: Volunteer, message: ResultMessage) -> Accepted:
        """Make a run from a raw result, and put it into the ledger, committed when this returns.

        Raises:
            Refusal: where it does not belong to a job of that lease of the machine, or contradicts itself.
        """
        lease = self._lease(volunteer, message.batch, message.attempt)
        if (job := _job_of(lease, message.task)) is None:  # of a lease that was sent again, what has no result is kept
            self._given.pop((message.batch, message.attempt), None)
            job = _job_of(self._lease(volunteer, message.batch, message.attempt), message.task)
        if job is None:
            raise Refusal(404, "this batch has no such task", "send a result with the batch that it was leased in")
        run = run_of_result(job, volunteer.fingerprint, _raw(message, lease.until))
        accepted = self._together.do(lambda ledger, _: ledger.accept(lease, run))
        if accepted is EntryKind.LATE:
            self._given.pop((lease.number, lease.attempt), None)
            self._lease(volunteer, message.batch, message.attempt)  # its study may have been forgotten meanwhile
        self._worked[volunteer.machine] = self._clock()
        return Accepted(accepted.value)

    def retry_after(self, volunteer: Volunteer) -> float:
        """The seconds until a machine without work asks again: as long as it has been without, within limits."""
        idle = self._clock() - self._worked.get(volunteer.machine, -math.inf)
        return min(max(idle, _SOONEST_SECONDS), _LATEST_SECONDS)

    def end(self, volunteer: Volunteer, message: End) -> Ended:
        """Give the rest of a batch back.

        Raises:
            Refusal: where the lease is lost, or of another machine.
        """
        lease = self._lease(volunteer, message.batch, message.attempt)
        outcome = AttemptOutcome.FAILED if message.outcome is EndOutcome.FAILED else AttemptOutcome.RETURNED
        reason = f"{volunteer.name}: {_line(message.reason)}"
        held = self._together.do(lambda ledger, _: ledger.end(lease, outcome, reason))
        if not held:
            raise _lost()
        return Ended(ended=True)

    def artefact_size(self, name: str) -> int:
        """The size of an artefact in bytes.

        Raises:
            Refusal: where there is none.
        """
        size = self._store.volunteers.artefact_size(name)
        if size is None:
            raise Refusal(404, "there is no such artefact", "claim again: an envelope names the artefact that it needs")
        return size

    def artefact(self, name: str, first: int, end: int) -> Iterator[bytes]:
        """The bytes of an artefact from ``first`` to before ``end``."""
        return self._store.volunteers.artefact(name, first, end)

    def public_keys(self) -> PublicKey:
        """The keys of the stored releases.

        Raises:
            Refusal: where nothing was signed.
        """
        keys = list(dict.fromkeys(each.public for each in self._store.volunteers.releases().values()))
        if not keys:
            raise Refusal(404, "nothing was signed yet", "ask the owner to run `hati grid sign`")
        return PublicKey(keys[-1], tuple(keys))

    def _check_invitation(self, message: Registration) -> None:
        with self._lock:
            name, until = self._codes.get(token_hash(message.invitation), ("", 0.0))
            coded = name == message.name and until > self._clock()
            if coded:
                del self._codes[token_hash(message.invitation)]
        if not coded and not self._invited(message.invitation):
            raise _not_invited()

    def _invited(self, invitation: str) -> bool:
        wanted = self._setup.invitation
        return not wanted or hmac.compare_digest(token_hash(invitation), token_hash(wanted))

    def _choice(self, template: ClientTemplate | None, ledger: Ledger) -> Choose:
        """The rule of choice of one claim, with only batches whose settings a machine's owner allows.

        It is asked again where the chosen batch turns out to be done.
        """
        if template is None or not template.settings:
            return self._setup.choose
        allowed, seen = template.settings, set[int | None]()

        def chosen(queues: Sequence[Queue], under_way: Mapping[str, int], client: Client) -> SteeringDecision:
            left = [each for queue in queues for each in _allowed(ledger, queue, allowed, seen)]
            decision = self._setup.choose(left, under_way, client)
            seen.add(decision.batch)
            return decision

        return chosen

    def _record_client(self, client: Client) -> None:
        """Keep which attributes a machine has, where they have changed since this server was started."""
        if self._known.get(client.machine) != client.attributes:
            self._store.ledger.record_client(client)
            self._known[client.machine] = client.attributes

    def _observe(self, volunteer: Volunteer, client: ClientDescription) -> None:
        """Store the state of a machine if it has changed.

        Raises:
            Refusal: where it has changed too often.
        """
        state = _state(client, volunteer.name, self._clock())
        if state.fingerprint != volunteer.fingerprint:
            known = next(each for each in self._store.machines() if each.id == volunteer.machine)
            if len(known.states) >= MOST_STATES and state.fingerprint not in known.fingerprints:
                raise Refusal(
                    403,
                    f"this machine was seen in {MOST_STATES} states",
                    "send properties that do not change, or register it under another name",
                )
            self._store.keep_machines([known.in_state(state)])
            self._store.volunteers.update(volunteer.machine, state.fingerprint, _described(client))

    def _remember(self, lease: Lease) -> None:
        """Keep a lease in memory, since its results follow soon; the oldest of too many is looked up again.

        One that is sent again keeps its jobs and its beginning, unless its number is now that of another batch: SQLite
        gives the last numbers again once their study was forgotten.
        """
        with self._lock:
            known = self._given.get((lease.number, lease.attempt))
            if known is not None and _sent_again(known, lease):
                return
            while len(self._given) >= MOST_KEPT:
                del self._given[next(iter(self._given))]
            began = lease.until - self._setup.lease
            self._given[lease.number, lease.attempt] = replace(lease, until=began)

    def _lease(self, volunteer: Volunteer, number: int, attempt: int) -> Lease:
        lease = self._given.get((number, attempt)) or self._store.ledger.leased(number, attempt)
        if lease is None:
            raise Refusal(410, "there is no such lease any more", "drop its results: its study was forgotten")
        if lease.machine != volunteer.machine:
            raise Refusal(403, "this lease is of another machine", "send results of your own leases only")
        return lease

    def _leased(self, volunteer: Volunteer, lease: Lease, signed: tuple[Release, int] | None) -> LeasedBatch:
        """A lease as it is sent.

        Raises:
            InputError: where its release is missing, or does not allow a job.
        """
        jobs = lease.batch.members
        if signed is None:
            raise InputError(f"benchmark {jobs[0].benchmark.name!r} has no signed release any more")
        release, size = signed
        if value := next(filter(None, (unsigned_value(job, release.statement) for job in jobs)), ""):
            raise InputError(f"the signed release does not allow {value} any more")
        envelope = Envelope(
            jobs[0].task.study,
            volunteer.machine,
            self._clock() + ENVELOPE_SECONDS,
            SignedRelease(release.statement, release.signature),
            ArtefactReference(release.artefact, size),
            tuple(convert(job_content(job), EnvelopeJob) for job in jobs),
            lease.batch.order.value,
        )
        return LeasedBatch(lease.number, lease.attempt, lease.until, self._setup.lease, envelope)


def _allowed(
    ledger: Ledger, queue: Queue, allowed: Mapping[str, Sequence[str]], seen: Collection[int | None]
) -> Iterator[Queue]:
    """The queue from its first batch on whose settings are allowed, and that was not chosen before."""
    if queue.machine is not None:
        if queue.head not in seen:
            yield queue
        return
    after = queue.head - 1
    while batches := ledger.waiting(queue.head, after):
        for number, batch in batches.items():
            if number not in seen and all(_fits(job, allowed) for job in batch.members):
                yield replace(queue, head=number)
                return
        after = max(batches)


def _sent_again(known: Lease, lease: Lease) -> bool:
    """Whether a lease is what is left of a known one."""
    tasks = {job.task.id for job in known.batch.members}
    same = (known.machine, known.worker) == (lease.machine, lease.worker)
    return same and tasks.issuperset(job.task.id for job in lease.batch.members)


def _job_of(lease: Lease, task: str) -> Job | None:
    return next((each for each in lease.batch.members if each.task.id == task), None)


def _fits(job: Job, allowed: Mapping[str, Sequence[str]]) -> bool:
    settings = job.task.configuration
    return all(setting_text(settings[name]) in texts for name, texts in allowed.items() if name in settings)


def _state(client: ClientDescription, name: str, now: float) -> MachineState:
    """A volunteer's machine as it is now; its name and its class are not its own choice."""
    about = {**client.properties, MACHINE_NAME: name, MACHINE_CLASS: VOLUNTEER}
    properties = tuple(sorted((_line(key), _line(value)) for key, value in about.items()))
    return MachineState(properties, datetime.fromtimestamp(now, UTC))


def _hardware(client: ClientDescription) -> str:
    """The class of a machine: times of two machines are comparable where it is equal."""
    known = client.properties
    return _line(hardware_class(client.architecture, known.get("processor", ""), known.get("cpus", str(client.cpus))))


def _attributes(client: ClientDescription) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What a machine says that it has; its owner's word is before its properties."""
    found: dict[str, tuple[str, ...]] = {_line(name): (_line(value),) for name, value in client.properties.items()}
    found |= {_line(name): tuple(map(_line, values)) for name, values in client.has.items()}
    return tuple(sorted(found.items()))


def _described(client: ClientDescription) -> Mapping[str, Any]:
    """A description without the invitation and the token, which are secrets."""
    found: dict[str, Any] = msgspec.to_builtins(client)
    return {name: value for name, value in found.items() if name not in {"invitation", "token"}}


def _raw(message: ResultMessage, leased: float) -> RawResult:
    """A result whose parts agree; its start is that of the lease where the volunteer's clock is wrong.

    Raises:
        Refusal: where they do not agree.
    """
    stdout = _bytes(message.stdout, "stdout")
    if hashlib.sha256(stdout).hexdigest() != message.digest:
        raise Refusal(422, "digest is not the SHA-256 of stdout", "send the output as the command wrote it")
    if message.outcome is RawOutcome.COMPLETED and (message.status != 0 or message.usage is None):
        raise Refusal(422, "a completed job has status 0 and usage", "send the outcome failed, or add them")
    began = message.began if abs(message.began - leased) <= _SKEW_SECONDS else leased
    used = message.usage
    return RawResult(
        _OUTCOMES[message.outcome],
        datetime.fromtimestamp(began, UTC),
        message.seconds,
        _line(message.detail),
        stdout,
        None if message.output is None else _bytes(message.output, "output"),
        message.status,
        None if used is None else _resources(used),
    )


def _resources(used: RawUsage) -> Resources:
    return Resources(used.wall, used.user, used.system, used.peak, used.voluntary, used.involuntary, used.load)


def _bytes(text: str, what: str) -> bytes:
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(422, f"{what} is not base64", "encode it as in RFC 4648, with padding") from None
    if len(found) > LARGEST_OUTPUT:
        raise Refusal(413, f"{what} has more than {LARGEST_OUTPUT >> 20} MiB", "let the command write less")
    return found


def _line(text: str) -> str:
    """A text from outside without control characters, which might change what a terminal shows."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)


def _lost() -> Refusal:
    return Refusal(409, "the lease is lost: it ended, or another machine has the batch", "claim again")


def _not_invited() -> Refusal:
    return Refusal(403, "the invitation is not valid", "ask the owner of the server for the invitation")
