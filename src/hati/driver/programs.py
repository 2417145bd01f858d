"""Load programs as the controller sees them, on this machine and on others."""

from __future__ import annotations

import socket
import time
from abc import ABC, abstractmethod

import msgspec
from msgspec import Struct

from hati.core import decode
from hati.driver.agent import AgentRefusal, Announce, CompileRequest
from hati.driver.channel import ControlChannel, Frame, FrameKind, WrongKeyError, connect
from hati.driver.compiling import LoadDriverError
from hati.generate import MachineClock, MachineTaskSet

CHUNK = 1 << 20
HERE = "127.0.0.1"
_EXCHANGES = 64
_UNTIL_COMPILED = 180.0
_UNTIL_ANSWERED = 10.0


def mute(_: str) -> None:
    """Announce nothing."""


class RemoteMachine(Struct, frozen=True):
    """Where the agent of a machine listens, and its key."""

    address: str
    port: int
    key: bytes

    @property
    def named(self) -> str:
        """The address and the port, as people write them."""
        return f"{self.address}:{self.port}"


class ControlledProgram(ABC):
    """A load program, with its output so far.

    ``address`` is that of its machine, ``controller`` that of this machine as it sees it, and ``gone`` the reason why
    its machine is lost, empty: it is not.
    """

    def __init__(self, role: MachineTaskSet) -> None:
        self.role = role
        self.output = bytearray()
        self.open = True
        self.clock = MachineClock()
        self.address = self.controller = HERE
        self.gone = ""

    @abstractmethod
    def fileno(self) -> int:
        """The descriptor that is readable where ``read`` has something to read."""

    @abstractmethod
    def tell(self, line: str) -> None:
        """Write a line to it, unless it is gone."""

    @abstractmethod
    def read(self) -> None:
        """Read the output that is available."""

    @abstractmethod
    def terminate(self) -> None:
        """End its load; it reports what it has."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the program, and its load with it."""

    def has(self, word: str) -> bool:
        """Whether it has written a line that begins with the word."""
        head = bytes(self.output[:CHUNK])
        return head.startswith(f"{word} ".encode()) or f"\n{word} ".encode() in head

    def words(self, word: str) -> list[str]:
        """The words after it on the first line that begins with it; empty if there is no such line yet."""
        lines = [line.split() for line in bytes(self.output[:CHUNK]).decode(errors="replace").splitlines()]
        return next((line[1:] for line in lines if line[:1] == [word]), [])

    @property
    def ended(self) -> bool:
        """Whether the program has finished, or has begun to report."""
        return not self.open or self.has("clocks")


class RemoteProgram(ControlledProgram):
    """A load program on another machine, which that machine's agent compiles, starts and passes lines to."""

    def __init__(self, role: MachineTaskSet, channel: ControlChannel, clock: MachineClock) -> None:
        super().__init__(role)
        self._channel = channel
        self.clock = clock
        self.address, self.controller = channel.address, channel.own_address

    @classmethod
    def started(
        cls, role: MachineTaskSet, machine: RemoteMachine, request: CompileRequest, announce: Announce
    ) -> RemoteProgram:
        """The program, compiled and started there; ``announce`` receives what its machine waits for.

        Raises:
            LoadDriverError: where it cannot be.
        """
        try:
            channel = connect(machine.address, machine.port, machine.key)
        except OSError as error:
            raise _unreachable(role, machine, error) from None
        try:
            channel.limit(_UNTIL_COMPILED)
            _asked(channel, role, FrameKind.COMPILE, msgspec.json.encode(request), announce)
            channel.limit(_UNTIL_ANSWERED)
            clock = _clock(channel, role)
            _asked(channel, role, FrameKind.START)
        except BaseException:
            channel.close()
            raise
        return cls(role, channel, clock)

    def fileno(self) -> int:
        """The descriptor of its channel."""
        return self._channel.fileno()

    def tell(self, line: str) -> None:
        """Write a line to it, unless it is gone."""
        self._send(FrameKind.LINE, f"{line}\n".encode())

    def read(self) -> None:
        """Read the output that is available."""
        try:
            frame = self._channel.receive()
        except (OSError, ValueError) as error:
            self._lose(_reason(error))
            return
        if frame.kind is FrameKind.OUTPUT:
            self.output += frame.content
        elif frame.kind is FrameKind.REFUSED:
            self._lose(_refusal(frame).message)
        else:
            self.open = False

    def terminate(self) -> None:
        """End its load; it reports what it has."""
        self._send(FrameKind.TERMINATE)

    def kill(self) -> None:
        """Close the channel: the agent kills the program."""
        self._channel.close()

    def _send(self, kind: FrameKind, content: bytes = b"") -> None:
        if self.gone:
            return
        try:
            self._channel.send(kind, content)
        except OSError as error:
            self._lose(_reason(error))

    def _lose(self, reason: str) -> None:
        self.gone = reason
        self.open = False


def _refusal(frame: Frame) -> AgentRefusal:
    return decode(frame.content, AgentRefusal)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _unreachable(role: MachineTaskSet, machine: RemoteMachine, error: OSError) -> LoadDriverError:
    message = f"the machine {role.machine!r} at {machine.named} cannot be used: {_reason(error)}"
    if isinstance(error, WrongKeyError):
        return LoadDriverError(message, "use the key file of its `hati probe agent`")
    if isinstance(error, socket.gaierror):
        return LoadDriverError(message, "correct its name")
    return LoadDriverError(message, f"start `hati probe agent --listen {machine.named} --key FILE` there")


def _asked(
    channel: ControlChannel,
    role: MachineTaskSet,
    kind: FrameKind,
    content: bytes = b"",
    announce: Announce = mute,
) -> Frame:
    """The agent's answer; ``announce`` receives what it waits for until then.

    Raises:
        LoadDriverError: where it refuses, waits for too long, or is gone.
    """
    machine, waiting = f"the machine {role.machine!r}", ""
    try:
        channel.send(kind, content)
        while (answer := channel.receive()).kind is FrameKind.WAITING:
            waiting = answer.content.decode(errors="replace")
            announce(f"{machine} is {waiting}")
    except (OSError, ValueError) as error:
        if waiting and isinstance(error, TimeoutError) and error.errno is None:  # of this end, not of the network
            raise LoadDriverError(f"{machine} is busy: it is {waiting}", "try again once that has ended") from None
        raise LoadDriverError(f"{machine} is gone: {_reason(error)}", "see its agent") from None
    if answer.kind is FrameKind.REFUSED:
        found = _refusal(answer)
        raise LoadDriverError(f"{machine}: {found.message}", found.fix or "see its agent")
    return answer


def _clock(channel: ControlChannel, role: MachineTaskSet) -> MachineClock:
    """Cristian's estimate by the fastest of several exchanges: its error is at most half of that exchange's time."""
    found = []
    for _ in range(_EXCHANGES):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        there = int(_asked(channel, role, FrameKind.CLOCK).content)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        found.append(MachineClock(there - (before + after) // 2, (after - before + 1) // 2))
    return min(found, key=lambda each: each.uncertainty)
