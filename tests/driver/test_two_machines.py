"""Experiments on two machines: threads and network namespaces of this one with an agent in each."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest

from hati.core import InputError
from hati.driver import LoadDriverError, RemoteMachine, compile_and_run, make_key, read_key, serve
from hati.driver.agent import Alone
from hati.driver.channel import ControlChannel, FrameKind, WrongKeyError, accepted, connect
from hati.driver.programs import RemoteProgram
from hati.engine.locks import FileLock
from hati.generate import (
    FLAGS,
    CodeLoad,
    CpuLoad,
    Kernel,
    LoadObservations,
    Loop,
    MachineTaskSet,
    NetworkLoad,
    NetworkPattern,
    NetworkProtocol,
    Sensor,
    TaskSet,
)
from interrupts import still_running

KEY = b"k" * 32
RESPONSE = (Sensor.RESPONSE,)
TASK_SET = """\
name: Two machines
machines: [one, two]
roles:
  - name: client
    machine: one
    task:
      do: sequence
      tasks:
        - {do: cpu, kernel: spin, demand_ms: 1, name: first, sensors: [response]}
        - do: loop
          count: 100
          task: {do: use, task: tcp}
        - do: loop
          count: 100
          task: {do: use, task: udp}
  - name: server
    machine: two
    task: {do: cpu, kernel: spin, demand_ms: 1, name: first, sensors: [response]}
tasks:
  tcp: {do: network, peer: server, protocol: tcp, pattern: ping_pong, bytes: 64, name: tcp, sensors: [response]}
  udp: {do: network, peer: server, protocol: udp, pattern: ping_pong, bytes: 64, name: udp, sensors: [response]}
"""
LONG = TASK_SET.replace("count: 100", "duration_ms: 60000", 1)


@pytest.fixture(autouse=True)
def _quickly_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without optimisation: what a unit of work takes is not tested here."""
    monkeypatch.setattr("hati.driver.compiling.FLAGS", tuple(flag for flag in FLAGS if not flag.startswith("-O")))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested does not depend on when the machines begin."""
    monkeypatch.setattr("hati.driver.running._REMOTE_HEAD_START_NS", 1_000_000)


@pytest.fixture
def refused() -> list[str]:
    """What the agent announces."""
    return []


@pytest.fixture
def two(refused: list[str]) -> Iterator[RemoteMachine]:
    """An agent in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=_serving, args=(listening, refused), daemon=True).start()
        yield RemoteMachine("127.0.0.1", listening.getsockname()[1], KEY)
        listening.shutdown(socket.SHUT_RDWR)


def _free(*_: object) -> AbstractContextManager[None]:
    return nullcontext()


def _serving(listening: socket.socket, announced: list[str], alone: Alone = _free) -> None:
    with suppress(OSError):
        serve(listening, KEY, announced.append, alone)


def exchange(count: int) -> TaskSet:
    load = NetworkLoad("server", NetworkProtocol.TCP, NetworkPattern.PING_PONG, 64, name="ping", sensors=RESPONSE)
    first = CpuLoad(Kernel.SPIN, demand_ms=1, name="first", sensors=RESPONSE)
    roles = (MachineTaskSet("client", "one", Loop(load, count=count)), MachineTaskSet("server", "two", first))
    return TaskSet("test", ("one", "two"), roles)


@pytest.mark.usefixtures("at_once")
def test_a_part_is_run_by_the_agent(tmp_path: Path, two: RemoteMachine) -> None:
    observed = compile_and_run(exchange(50), tmp_path, machines={"two": two})
    assert len(observed.values("ping", Sensor.RESPONSE)) == 50
    (first,) = observed.named("first", Sensor.RESPONSE)
    assert (first.role, len(first.values)) == ("server", 1)
    clock = observed.machines["two"]
    assert abs(clock.offset) <= clock.uncertainty, "it is the same clock"
    assert (tmp_path / "role-1" / "load.c").exists()
    assert "series 0 1 0" in (tmp_path / "role-1" / "observations.txt").read_text()


@pytest.mark.acceptance
@pytest.mark.parametrize(("delay", "late"), [(0.25, False), (1.0, True)])
def test_a_start_that_arrives_late_is_reported(
    tmp_path: Path, two: RemoteMachine, monkeypatch: pytest.MonkeyPatch, delay: float, late: bool
) -> None:
    """The network sends a lost segment again after 200 ms, for which the head start has room."""
    tell = RemoteProgram.tell

    def delayed(self: RemoteProgram, line: str) -> None:
        if line.startswith("start"):
            time.sleep(delay)
        tell(self, line)

    monkeypatch.setattr(RemoteProgram, "tell", delayed)
    observed = compile_and_run(exchange(5), tmp_path, machines={"two": two})
    (first,) = observed.named("first", Sensor.RESPONSE)
    assert 0 <= observed.late["server"] <= first.starts[0]
    assert (observed.late["server"] > 200_000_000) is late
    assert observed.late["client"] < 200_000_000


def test_of_a_machine_that_vanishes_no_start_is_reported(
    tmp_path: Path, two: RemoteMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = RemoteProgram.tell

    def cut(self: RemoteProgram, line: str) -> None:
        if line.startswith("start"):
            self.kill()
        tell(self, line)

    monkeypatch.setattr(RemoteProgram, "tell", cut)
    only = MachineTaskSet("only", "two", CpuLoad(Kernel.SPIN, demand_ms=1, name="first", sensors=RESPONSE))
    with pytest.raises(
        LoadDriverError, match=r"the machine 'two' of 'only' is gone: .*; nothing was observed"
    ) as caught:
        compile_and_run(TaskSet("test", ("two",), (only,)), tmp_path, machines={"two": two})
    assert isinstance(caught.value.observations, LoadObservations)
    assert not caught.value.observations.machines
    assert not caught.value.observations.late


def test_another_key_is_refused_on_both_sides(tmp_path: Path, two: RemoteMachine, refused: list[str]) -> None:
    other = RemoteMachine(two.address, two.port, b"o" * 32)
    with pytest.raises(LoadDriverError, match=r"'two' at .* cannot be used: it refuses the key; use the key"):
        compile_and_run(exchange(5), tmp_path, machines={"two": other})
    deadline = time.monotonic() + 60.0
    while not refused and time.monotonic() < deadline:  # the agent announces it after its answer
        time.sleep(0.01)
    assert refused == ["refused 127.0.0.1: it has another key"]


@pytest.mark.usefixtures("at_once")
def test_a_stranger_is_not_waited_for(two: RemoteMachine, tmp_path: Path) -> None:
    with socket.create_connection((two.address, two.port)) as silent:
        silent.sendall(b"GET / HTTP/1.1\r\n")
        assert len(compile_and_run(exchange(5), tmp_path, machines={"two": two}).values("ping", Sensor.RESPONSE)) == 5


@pytest.mark.acceptance
def test_many_strangers_do_not_end_the_agent(tmp_path: Path) -> None:
    """Each holds a descriptor of the agent, which has few."""
    key = tmp_path / "key"
    key.write_bytes(KEY)
    words = (sys.executable, "-m", "hati", "probe", "agent", "--listen", "127.0.0.1:0", "--key", str(key))
    agent = subprocess.Popen(
        ["sh", "-c", 'ulimit -n 64 && exec "$@"', "sh", *words],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HATI_LOCK": str(tmp_path / "lock")},
    )
    with agent, ExitStack() as strangers:
        try:
            assert agent.stderr is not None
            port = int(agent.stderr.readline().partition("127.0.0.1:")[2].partition(";")[0])
            for _ in range(80):
                strangers.enter_context(socket.create_connection(("127.0.0.1", port)))
            machine = RemoteMachine("127.0.0.1", port, KEY)
            assert len(compile_and_run(exchange(5), tmp_path, machines={"two": machine}).values("ping", *RESPONSE)) == 5
        finally:
            agent.kill()


class _Shortage:
    """A listening socket with errors before its connections."""

    def __init__(self, listening: socket.socket, *errors: int) -> None:
        self._listening, self._errors = listening, list(errors)

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        if self._errors:
            number = self._errors.pop(0)
            raise OSError(number, os.strerror(number))
        return self._listening.accept()


@pytest.mark.usefixtures("at_once")
def test_an_agent_goes_on_after_a_shortage(tmp_path: Path, refused: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hati.driver.agent._SHORTAGE_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        shortage = _Shortage(listening, errno.ECONNABORTED, errno.EMFILE)
        Thread(target=_serving, args=(shortage, refused), daemon=True).start()
        machine = RemoteMachine("127.0.0.1", listening.getsockname()[1], KEY)
        assert len(compile_and_run(exchange(5), tmp_path, machines={"two": machine}).values("ping", *RESPONSE)) == 5
        listening.shutdown(socket.SHUT_RDWR)
    assert refused[0] == "cannot accept a connection: Too many open files; it waits"


def test_an_agent_without_room_for_a_folder_says_so(
    tmp_path: Path, two: RemoteMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("hati.driver.agent.TemporaryDirectory", full)
    with pytest.raises(LoadDriverError, match="the machine 'two': No space left on device"):
        compile_and_run(exchange(5), tmp_path, machines={"two": two})


@pytest.fixture
def local(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The place and the lock of an agent in a process."""
    words = (sys.executable, "-m", "hati", "probe", "agent", "--listen", "127.0.0.1:0", "--key", "key")
    lock = tmp_path / "agent-lock"
    with subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, "HATI_LOCK": str(lock)}
    ) as agent:
        assert agent.stderr is not None
        yield agent.stderr.readline().partition("listening at ")[2].partition(";")[0], lock
        agent.kill()


def run_locally(folder: Path, place: str, lock: Path) -> subprocess.Popen[str]:
    """`hati probe run` with an agent and a lock."""
    (folder / "set.yaml").write_text(TASK_SET)
    words = (sys.executable, "-m", "hati", "probe", "run", "set.yaml", "--on", f"two={place}", "--key", "key")
    environment = {**os.environ, "HATI_LOCK": str(lock)}
    return subprocess.Popen(words, cwd=folder, env=environment, stdout=-1, stderr=-1, text=True)


@pytest.mark.acceptance
def test_an_agent_with_the_lock_of_its_controller_is_refused_at_once(tmp_path: Path, local: tuple[str, Path]) -> None:
    place, lock = local
    with run_locally(tmp_path, place, lock) as running:
        _, err = running.communicate(timeout=60)
    assert running.returncode == 4
    said = f"the machine 'two': its agent needs the lock {lock}, which the controller on that machine holds; leave out"
    assert said in " ".join(err.split())


@pytest.mark.acceptance
def test_a_busy_machine_is_announced_and_waited_for(tmp_path: Path, local: tuple[str, Path]) -> None:
    place, path = local
    lock = FileLock(path)
    lock.acquire("check", pytest.fail)
    try:
        with run_locally(tmp_path, place, tmp_path / "lock") as running:
            assert running.stderr is not None
            said = running.stderr.readline()
            lock.release()
            running.communicate(timeout=60)
    finally:
        lock.release()
    assert f"the machine 'two' is waiting for another hati (process {os.getpid()}, check) that measures on" in said
    assert running.returncode == 0


@pytest.mark.acceptance
def test_a_machine_that_stays_busy_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hati.driver.programs._UNTIL_COMPILED", 0.5)
    released, announced = Event(), list[str]()

    @contextmanager
    def alone(_: str, waiting: Callable[[str], None]) -> Iterator[None]:
        waiting("waiting for another hati")
        released.wait(60)
        yield

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=_serving, args=(listening, [], alone), daemon=True).start()
        machine = RemoteMachine("127.0.0.1", listening.getsockname()[1], KEY)
        with pytest.raises(
            LoadDriverError, match="the machine 'two' is busy: it is waiting for another hati; try again"
        ):
            compile_and_run(exchange(5), tmp_path, machines={"two": machine}, announce=announced.append)
        released.set()
        listening.shutdown(socket.SHUT_RDWR)
    assert announced == ["the machine 'two' is waiting for another hati"]


def test_a_machine_without_an_agent_is_named_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(LoadDriverError, match=rf"refused; start `hati probe agent --listen 127.0.0.1:{port}"):
        compile_and_run(exchange(5), tmp_path, machines={"two": RemoteMachine("127.0.0.1", port, KEY)})


def test_code_that_the_agents_compiler_refuses_is_quoted(tmp_path: Path, two: RemoteMachine) -> None:
    wrong = TaskSet("test", ("two",), (MachineTaskSet("only", "two", CodeLoad("nonsense = 1;")),))
    with pytest.raises(LoadDriverError, match=r"the machine 'two': cc cannot compile .*nonsense"):
        compile_and_run(wrong, tmp_path, machines={"two": two})


def pair() -> tuple[ControlChannel, ControlChannel, socket.socket]:
    """Both ends of a channel, and the connection of the agent's."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found: list[ControlChannel] = []
        thread = Thread(target=lambda: found.append(connect("127.0.0.1", listening.getsockname()[1], KEY)))
        thread.start()
        connection, _ = listening.accept()
        agent = accepted(connection, KEY)
        thread.join()
    return found[0], agent, connection


def test_frames_are_those_of_the_other_end_in_their_order() -> None:
    controller, agent, _ = pair()
    for number in range(3):
        controller.send(FrameKind.LINE, b"%d" % number)
        assert agent.receive() == (FrameKind.LINE, b"%d" % number)
    agent.send(FrameKind.OUTPUT, b"x" * 100_000)
    assert controller.receive().content == b"x" * 100_000
    controller.close()
    agent.close()


@pytest.mark.parametrize("change", ["altered", "repeated", "left out", "reflected"])
def test_a_frame_that_is_not_the_next_one_ends_the_channel(change: str) -> None:
    """What somebody between both ends can do."""
    controller, agent, connection = pair()
    recorded = _Recorder()
    own, controller._connection = controller._connection, recorded  # type: ignore[assignment]  # stands in for it
    controller.send(FrameKind.LINE, b"first")
    controller.send(FrameKind.LINE, b"second")
    first, second = recorded.sent
    sent = {
        "altered": [first.replace(b"first", b"fired")],
        "repeated": [first, first],
        "left out": [second],
        "reflected": [],
    }[change]
    for data in sent:
        own.sendall(data)
    if change == "reflected":
        connection.sendall(first)
        controller._connection = own
        with pytest.raises(ConnectionError, match="a frame is not authentic"):
            controller.receive()
    else:
        if change == "repeated":
            assert agent.receive().content == b"first"
        with pytest.raises(ConnectionError, match="a frame is not authentic"):
            agent.receive()
    own.close()
    agent.close()


class _Recorder:
    """Takes the place of a connection, and keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def sendall(self, data: bytes) -> None:
        self.sent.append(data)


def test_an_agent_that_only_repeats_what_it_hears_is_refused() -> None:
    def echo(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            while data := connection.recv(4096):
                connection.sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=echo, args=(listening,), daemon=True).start()
        with pytest.raises(WrongKeyError, match="it has another key"):
            connect("127.0.0.1", listening.getsockname()[1], KEY)


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    key = make_key(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert key == make_key(tmp_path / "key") == read_key(tmp_path / "key")
    (tmp_path / "short").write_text("secret\n")
    with pytest.raises(InputError, match="a key of 6 characters; use one of 32 or more"):
        read_key(tmp_path / "short")
    with pytest.raises(InputError, match=r"cannot read the key in .*; copy the file"):
        read_key(tmp_path / "missing")


NAMES = (f"hati-one-{os.getpid()}", f"hati-two-{os.getpid()}")
ADDRESSES = ("10.177.0.1", "10.177.0.2")


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def namespaces() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a link between them."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("two network namespaces need root and iproute2")
    try:
        for name in NAMES:
            ip("netns", "add", name)
        ip("link", "add", "veth0", "netns", NAMES[0], "type", "veth", "peer", "name", "veth0", "netns", NAMES[1])
        for name, address in zip(NAMES, ADDRESSES, strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "veth0")
            for device in ("lo", "veth0"):
                ip("-n", name, "link", "set", device, "up")
        yield NAMES
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this kernel does not permit network namespaces: {error.stderr.decode().strip()}")
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def is_load(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.name() == "load"
    return False


class Agent:
    """`hati probe agent` in the second namespace."""

    def __init__(self, folder: Path, prefix: Sequence[str] = ()) -> None:
        self.folder = folder
        self.log = folder / "agent.log"
        words = ("probe", "agent", "--listen", f"{ADDRESSES[1]}:0", "--key", str(folder / "key"))
        with self.log.open("wb") as log:
            self.process = psutil.Popen(
                ["ip", "netns", "exec", NAMES[1], *prefix, sys.executable, "-m", "hati", *words],
                stderr=log,
                env={**os.environ, "HATI_LOCK": str(folder / "agent-lock")},
            )
        until = time.monotonic() + 60.0
        while "listening at" not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until
            time.sleep(0.05)
        self.place = self.log.read_text().split("listening at ")[1].partition(";")[0]

    def programs(self) -> list[psutil.Process]:
        """The load programs that it runs."""
        return [each for each in self.process.children(recursive=True) if is_load(each)]

    def run(self, text: str) -> subprocess.Popen[str]:
        """`hati probe run` in the first namespace, of this task set."""
        (self.folder / "set.yaml").write_text(text)
        words = ("probe", "run", "set.yaml", "--on", f"two={self.place}", "--key", "key", "--format", "json")
        return subprocess.Popen(
            ["ip", "netns", "exec", NAMES[0], sys.executable, "-m", "hati", *words],
            cwd=self.folder,
            env={**os.environ, "HATI_LOCK": str(self.folder / "lock")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        for each in (*self.process.children(recursive=True), self.process):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait(30)


@pytest.fixture
def agent(namespaces: tuple[str, str], tmp_path: Path) -> Iterator[Agent]:
    made = Agent(tmp_path)
    yield made
    made.close()


def read(done: subprocess.Popen[str], status: int = 0) -> dict[str, dict[str, int]]:
    out, err = done.communicate(timeout=120)
    assert done.returncode == status, err
    found = json.loads(out)
    assert bool(found["problem"]) == bool(status)
    return {f"{each['role']} {each['task']}": each for each in found["sensors"]} | {"machines": found["machines"]}


def assert_common_start(project: Path) -> None:
    """The first task of both programs begins at the common time, or shortly afterwards where the machine is busy."""
    folder = next((project / ".hati" / "probe").iterdir())
    starts = [
        int((folder / f"role-{number}" / "observations.txt").read_text().split("series 0 1 0\n")[1].split()[0])
        for number in (0, 1)
    ]
    assert all(0 <= start < 200_000_000 for start in starts), starts


@pytest.mark.acceptance
def test_both_namespaces_exchange_messages_from_a_common_start(agent: Agent) -> None:
    found = read(agent.run(TASK_SET))
    assert [found[name]["observations"] for name in ("client tcp", "client udp", "client first", "server first")] == [
        100,
        100,
        1,
        1,
    ]
    clock = found["machines"]["two"]
    assert abs(clock["offset"]) <= clock["uncertainty"] < 50_000_000, "namespaces of the network share the clock"
    assert_common_start(agent.folder)


@pytest.mark.acceptance
@pytest.mark.parametrize("megabits", [10, 100])
def test_the_rate_of_a_link_to_another_machine_is_found(agent: Agent, megabits: int) -> None:
    words = ("probe", "net.two", "--quick", "--on", f"two={agent.place}", "--key", "key", "--format", "json")
    folder = agent.folder
    own = {"HATI_LOCK": str(folder / "lock"), "HATI_STORE": str(folder / "store.sqlite")}
    inside = ["ip", "netns", "exec", NAMES[0]]
    bucket = ["tc", "qdisc", "add", "dev", "veth0", "root", "tbf", "rate", f"{megabits}mbit", "burst", "32kbit"]
    subprocess.run([*inside, *bucket, "latency", "50ms"], check=True)
    try:
        done = subprocess.run(
            [*inside, sys.executable, "-m", "hati", *words],
            cwd=folder,
            env={**os.environ, **own},
            check=True,
            capture_output=True,
        )
    finally:
        subprocess.run([*inside, "tc", "qdisc", "delete", "dev", "veth0", "root"], check=True)
    (link,) = json.loads(done.stdout)["experiments"]
    found = {each["name"]: each for each in link["properties"]}
    rate = found["net.two_bandwidth"]
    assert rate["verdict"] == "contaminated" or rate["value"] == pytest.approx(
        megabits * 1e6 / 8 * 1448 / 1514, rel=0.05
    )
    assert found["net.two_round_trip"]["value"] < 50_000
    assert found["net.two_loss"]["interval"][0] < 0.02


@pytest.mark.acceptance
@pytest.mark.skipif(not Path("/proc/self/ns/time").exists(), reason="this kernel has no time namespaces")
def test_the_clock_of_the_other_machine_is_found(namespaces: tuple[str, str], tmp_path: Path) -> None:
    other = Agent(tmp_path, ("unshare", "--time", "--monotonic", "5000", "--fork"))
    try:
        found = read(other.run(TASK_SET))
    finally:
        other.close()
    clock = found["machines"]["two"]
    assert abs(clock["offset"] - 5_000_000_000_000) <= clock["uncertainty"]
    assert (found["client tcp"]["observations"], found["server first"]["observations"]) == (100, 1)
    assert_common_start(tmp_path)


@pytest.mark.acceptance
def test_a_peer_that_vanishes_ends_the_experiment_and_leaves_the_rest(agent: Agent) -> None:
    begun = time.monotonic()
    running = agent.run(LONG)
    while not agent.programs():
        assert running.poll() is None
        assert time.monotonic() - begun < 60
        time.sleep(0.05)
    time.sleep(1.5)
    ip("-n", NAMES[1], "link", "set", "veth0", "down")
    cut = time.monotonic()
    try:
        found = read(running, status=4)
        assert time.monotonic() - cut < 40
        assert found["client tcp"]["observations"] > 0
        assert found["client first"]["observations"] == 1
        until = time.monotonic() + 30
        while agent.programs():
            assert time.monotonic() < until, "its agent ends the program of a controller that is gone"
            time.sleep(0.1)
    finally:
        ip("-n", NAMES[1], "link", "set", "veth0", "up")
    served = agent.run(TASK_SET)
    while served.wait(120) == 4 and time.monotonic() < until:  # the route comes back a moment after the link
        served = agent.run(TASK_SET)
    assert read(served)["client udp"]["observations"] == 100, "and serves the next"


@pytest.mark.acceptance
def test_an_agent_that_is_killed_is_named(agent: Agent) -> None:
    running = agent.run(LONG)
    until = time.monotonic() + 60
    while not agent.programs():
        assert time.monotonic() < until
        time.sleep(0.05)
    programs = agent.programs()
    time.sleep(1.0)
    for each in agent.process.children(recursive=True):
        if each not in programs:
            each.kill()
    agent.process.kill()
    _, err = running.communicate(timeout=60)
    assert running.returncode == 4
    assert "the machine 'two' of 'server' is gone: " in err or "a peer does not answer" in err
    assert not still_running(programs), "the program ends with its agent"
