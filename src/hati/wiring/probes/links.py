"""Experiments on the link to another machine, whose agent answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hati.core import FloatArray
from hati.driver import RemoteMachine, compile_and_run
from hati.generate import (
    LoadObservations,
    LoadTask,
    Loop,
    MachineTaskSet,
    NetworkLoad,
    NetworkPattern,
    NetworkProtocol,
    Sensor,
    Sequence,
    TaskSet,
)
from hati.probing import AddedExperiment, Setting
from hati.probing.accounts import Watch
from hati.studies.probe import LINK_METHOD, Experiment, Inputs, remote_link

_HERE, _CLIENT, _SERVER = "here", "client", "server"
_PIECE = 64 * 1024
_PILOT_PIECES, _PILOT_STREAMS, _STREAM_SECONDS, _STREAMS = 4, 3, 0.4, 6
_ROUND_TRIPS, _DATAGRAMS = 200, 200
_MOST_PIECES = 2**16


def link_experiments(machines: Mapping[str, RemoteMachine]) -> dict[str, AddedExperiment]:
    """The experiment on the link to each machine: ``net.`` and the machine's name."""
    return {f"net.{name}": _link(name, machine) for name, machine in machines.items()}


def _link(name: str, machine: RemoteMachine) -> AddedExperiment:
    prefix = f"net.{name}"

    def prepare(setting: Setting, _: Inputs) -> int:
        """The pieces of a stream that takes long enough, by a pilot."""
        found = _observed(_pilot(), name, machine, setting)
        seconds = float(np.median(found.values("stream", Sensor.RESPONSE))) / 1e9
        return int(np.clip(_PILOT_PIECES * _STREAM_SECONDS / seconds, 1, _MOST_PIECES))

    def execute(setting: Setting, _: Inputs, pieces: int) -> dict[str, FloatArray]:
        watch = Watch(setting.cpus)
        found = _raw(_observed(_measured(setting.scale, pieces), name, machine, setting), pieces)
        return {**found, "others": np.array([watch.accounts().beside_packets / len(setting.cpus)])}

    return AddedExperiment(
        Experiment(
            prefix,
            f"round trip, bandwidth and loss of the link to {name}",
            f"{LINK_METHOD}-{machine.address}",
            {f"{prefix}_round_trip": "us", f"{prefix}_bandwidth": "B/s", f"{prefix}_loss": "1"},
            lambda raw, _: remote_link(raw, prefix),
        ),
        execute,
        prepare,
    )


def _raw(found: LoadObservations, pieces: int) -> dict[str, FloatArray]:
    values = {
        "round_trip_ns": found.values("ping", Sensor.RESPONSE),
        "stream_ns": found.values("stream", Sensor.RESPONSE),
        "stream_bytes": [float(pieces * _PIECE)],
        "sent": [float(found.values("datagram", Sensor.RESPONSE).size)],
        "lost": [float(found.messages_lost)],
    }
    return {name: np.asarray(each, dtype=np.float64) for name, each in values.items()}


def _observed(task: LoadTask, name: str, machine: RemoteMachine, setting: Setting) -> LoadObservations:
    roles = (MachineTaskSet(_CLIENT, _HERE, task), MachineTaskSet(_SERVER, name))
    with TemporaryDirectory(prefix="hati-") as folder:
        return compile_and_run(
            TaskSet("link", (_HERE, name), roles), Path(folder), machines={name: machine}, lock=setting.lock
        )


def _pilot() -> LoadTask:
    return Loop(_load("stream", NetworkPattern.STREAM, _PIECE, _PILOT_PIECES), count=_PILOT_STREAMS)


def _measured(scale: float, pieces: int) -> LoadTask:
    return Sequence(
        (
            Loop(_load("ping", NetworkPattern.PING_PONG, 64), count=int(_ROUND_TRIPS * scale)),
            Loop(_load("stream", NetworkPattern.STREAM, _PIECE, pieces), count=int(_STREAMS * scale)),
            Loop(
                _load("datagram", NetworkPattern.PING_PONG, 64, protocol=NetworkProtocol.UDP),
                count=int(_DATAGRAMS * scale),
            ),
        )
    )


def _load(
    name: str,
    pattern: NetworkPattern,
    size: int,
    count: int = 1,
    protocol: NetworkProtocol = NetworkProtocol.TCP,
) -> NetworkLoad:
    return NetworkLoad(_SERVER, protocol, pattern, size, count, name=name, sensors=(Sensor.RESPONSE,))
