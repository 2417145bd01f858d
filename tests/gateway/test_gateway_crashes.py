"""A server that is killed: what it acknowledged is there, and what it did not is sent again and counts once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from volunteers import PRINTED, Served, Volunteer, hati, release, result

from hati.store import EntryKind, read_store

TASKS = 24
KILLS = 3


@pytest.fixture
def own_store(project: Path, store: Path, tmp_path: Path) -> Path:
    """A store of its own with the signed release."""
    place = tmp_path / "store.sqlite"
    signed = hati("grid", "sign", str(project), "--key", str(store.parent / "owner"), "--store", str(place))
    assert signed.returncode == 0, signed.stderr
    return place


class Sender(threading.Thread):
    """A machine that goes on until each of its results is acknowledged, whatever happens to the server.

    As the client of volunteers does, it sends the same again where the server is away, or says that its store is.
    """

    def __init__(self, served: Served, name: str, ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self.served, self.ended = served, ended
        with served.http() as http:
            self.volunteer = Volunteer(http, name)
        self.acknowledged: list[str] = []
        self.lost: list[str] = []
        self.answers: Counter[int] = Counter()

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                with self.served.http() as self.volunteer.http:
                    self._work(f"{self.name}-{time.monotonic_ns()}")
            except httpx.HTTPError:
                time.sleep(0.05)

    def _work(self, key: str) -> None:
        while not self.ended.is_set():
            try:
                answer = self.volunteer.claim(key)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            self.answers[answer.status_code] += 1
            if answer.status_code >= 500:
                time.sleep(0.05)
                continue
            if answer.status_code != 200:
                time.sleep(0.05)
                return
            lease = answer.json()["lease"]
            for job in lease["envelope"]["jobs"]:
                self._send(result(lease, job["task"], PRINTED))
            return

    def _send(self, message: dict[str, object]) -> None:
        while not self.ended.is_set():
            try:
                done = self.volunteer.post("result", message)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if done.status_code >= 500:
                time.sleep(0.05)
                continue
            if done.status_code == 200 and done.json()["accepted"] == "accepted":
                self.acknowledged.append(str(message["task"]))
            else:
                self.lost.append(done.text)
            return


@pytest.mark.acceptance
def test_no_acknowledged_result_is_lost_when_the_server_is_killed(project: Path, own_store: Path) -> None:
    served, ended = Served(project, own_store), threading.Event()
    tasks = release(project, own_store, TASKS // 2, each=2)
    senders = [Sender(served, name, ended) for name in ("one", "two")]
    for sender in senders:
        sender.start()
    drawn, port, kills = random.Random(45), served.port, 0
    deadline = time.monotonic() + 300
    done = 0
    while (done < TASKS or kills < KILLS) and served.process.poll() is None and time.monotonic() < deadline:
        time.sleep(drawn.uniform(0.0, 0.05))
        done = sum(len(each.acknowledged) for each in senders)
        if kills < KILLS and done >= kills * TASKS // 4:
            served.kill()
            kills += 1
            served.start(port)
    ended.set()
    answers = [(each.acknowledged, each.lost, each.answers) for each in senders]
    assert (done, kills) == (TASKS, KILLS), f"{answers}; {served.autopsy()}"
    for sender in senders:
        sender.join(30)
    served.close()
    acknowledged = [task for sender in senders for task in sender.acknowledged]
    with closing(read_store(str(own_store))) as store:
        history = store.ledger.history()
        known = store.ledger.results(tasks)
    counted = Counter(each.content["run"]["task"] for each in history if each.what is EntryKind.ACCEPTED)
    assert sorted(acknowledged) == sorted(tasks), answers
    assert set(known) == set(tasks)
    assert counted == dict.fromkeys(tasks, 1)
