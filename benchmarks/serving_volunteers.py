"""The rate of the server of volunteers, compared with the same HTTPS server that has no ledger.

Both are processes of their own and do the same for each request, until the ledger is asked: the other one answers from
memory. Four machines, also processes, claim batches of one job and send its result, over connections that stay open.

Run it as: .venv/bin/python -m benchmarks.serving_volunteers [URL of an empty PostgreSQL database]
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import http.client
import json
import multiprocessing
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks.markdown import table

if TYPE_CHECKING:
    from hati.gateway import Gateway
    from hati.store import SqlStore

MACHINES, BATCHES, TRIALS, GOAL = 4, 40, 3, 0.5
"""``BATCHES`` is the number of each machine and trial."""
WARM_UP = 5
"""The number of batches of each machine before them: a server loads modules and compiles statements when first used."""
PRINTED = b'{"metric": "latency", "values": [0.01, 0.02, 0.03]}\n'
PROJECT = """[[benchmark]]
name = "main"
command = ["true"]
reader = "hati"

[[benchmark.metric]]
name = "latency"
unit = "s"
"""
_PLAIN, _LEDGER = "without a ledger", "with the ledger"


def certificate(folder: Path) -> Path:
    """A file with a self-made certificate for 127.0.0.1 and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hati")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1))
    signed = made.add_extension(address, critical=False).sign(key, hashes.SHA256())
    private = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pem = serialization.Encoding.PEM
    file = folder / "certificate.pem"
    file.write_bytes(signed.public_bytes(pem) + key.private_bytes(pem, *private))
    return file


def prepare(folder: Path, place: str, batches: int) -> None:
    """Sign the project, and release batches of one job."""
    from hati.campaign import JobMaker
    from hati.core import Batch, Configuration, StudyId
    from hati.engine import VolunteersEngine
    from hati.wiring.volunteers import make_key, sign
    from hati.wiring.workplace import workplace

    (folder / "project").mkdir()
    (folder / "project" / "hati.toml").write_text(PROJECT)
    make_key(folder / "key")
    sign(folder / "project", place, folder / "key", None)
    found = workplace(folder / "project", place)
    assert found.folder is not None
    (benchmark,) = found.project.benchmarks
    study = StudyId.of("measurement", {}, 1, found.machine.id)
    make = JobMaker({benchmark.name: benchmark}, found.folder.sources)
    with closing(found.store):
        found.store.begin(study, benchmark.metrics, found.machine)
        engine = VolunteersEngine(found.store.ledger, found.store.volunteers, [benchmark], print)
        for number in range(batches):
            task = benchmark.task(study, "design", Configuration(), found.revision, number)
            engine.submit(Batch((make.job(task),)))


def plain(store: SqlStore) -> Gateway:
    """A gateway that answers from memory, with what a first claim gave."""
    from hati.gateway import Gateway, Setup
    from hati.gateway.messages import Accepted, Claimed, ClaimMessage, Registered, Registration, ResultMessage
    from hati.store import Volunteer

    class WithoutLedger(Gateway):
        known: ClassVar[dict[str, Volunteer]] = {}
        first: Claimed | None = None

        def register(self, message: Registration) -> Registered:
            found = super().register(message)
            self.known[found.token] = super().holder(found.token)
            return found

        def holder(self, token: str) -> Volunteer:
            return self.known[token]

        def claim(self, volunteer: Volunteer, message: ClaimMessage) -> Claimed | None:
            self.first = self.first or super().claim(volunteer, message)
            return self.first

        def result(self, volunteer: Volunteer, message: ResultMessage) -> Accepted:  # noqa: ARG002 - it answers all alike
            return Accepted("accepted")

    return WithoutLedger(store, Setup())


def serve(kind: str, folder: Path, place: str) -> None:
    """Serve one of the two gateways, and print its port."""
    from hati.gateway import Gateway, Setup, app
    from hati.gateway.limits import Rate
    from hati.store import open_store
    from hati.wiring.volunteers import Address, serve_volunteers

    app.MACHINE_RATE = Rate(1e9, 1e9)
    store = open_store(place)
    gateway = Gateway(store, Setup()) if kind == _LEDGER else plain(store)
    file = folder / "certificate.pem"
    serve_volunteers(
        app.make_app(gateway, bytes),
        Address("127.0.0.1", 0, file, file),
        lambda url: print(url.rpartition(":")[2], flush=True),
    )


class Machine:
    """A machine with a connection that stays open."""

    def __init__(self, folder: Path, port: int, name: str) -> None:
        trusted = ssl.create_default_context(cafile=str(folder / "certificate.pem"))
        self._http = http.client.HTTPSConnection("127.0.0.1", port, context=trusted, timeout=60)
        self._headers = {"Hati-Protocol": "1", "Content-Encoding": "gzip"}
        self._about = {"name": name, "os": "Linux", "architecture": "x", "cpus": 1, "python": "3", "sandbox": "none"}
        done = self._post("register", self._about)
        self._headers["Authorization"] = f"Bearer {done['token']}"

    def work(self, number: int) -> None:
        """Claim a batch, and send its result."""
        lease = self._post("claim", {"key": f"{number:08}-{time.time_ns()}", "client": self._about})["lease"]
        (job,) = lease["envelope"]["jobs"]
        usage = dict.fromkeys(("wall", "user", "system"), 0.1) | dict.fromkeys(("peak", "voluntary", "involuntary"), 1)
        result = {
            "batch": lease["batch"],
            "attempt": lease["attempt"],
            "task": job["task"],
            "began": time.time(),
            "seconds": 0.1,
            "outcome": "completed",
            "status": 0,
            "stdout": base64.b64encode(PRINTED).decode(),
            "digest": hashlib.sha256(PRINTED).hexdigest(),
            "usage": usage,
        }
        assert self._post("result", result) == {"accepted": "accepted"}

    def _post(self, verb: str, message: object) -> Any:
        body = gzip.compress(json.dumps(message).encode(), 1)
        self._http.request("POST", f"/v1/{verb}", body, self._headers)
        answer = self._http.getresponse()
        text = answer.read()
        assert answer.status in {200, 201}, (answer.status, text)
        return json.loads(text)


def one_machine(folder: Path, port: int, name: str, go: Any, times: Any) -> None:
    """The process of a machine: its begin and end."""
    machine = Machine(folder, port, name)
    for number in range(WARM_UP):
        machine.work(number)
    go.wait()
    began = time.time()
    for number in range(BATCHES):
        machine.work(number)
    times.put((began, time.time()))


def times_of(folder: Path, server: subprocess.Popen[str], name: str) -> tuple[list[tuple[float, float]], float]:
    """The begin and end of each machine's work, and the CPU time of the server meanwhile, in seconds."""
    assert server.stdout is not None
    port, go = int(server.stdout.readline()), multiprocessing.Barrier(MACHINES + 1)
    times: SimpleQueue[tuple[float, float]] = multiprocessing.SimpleQueue()
    about = [(folder, port, f"{name}-{number}", go, times) for number in range(MACHINES)]
    machines = [multiprocessing.Process(target=one_machine, args=each) for each in about]
    for machine in machines:
        machine.start()
    go.wait(120)
    before = cpu_seconds(server.pid)
    for machine in machines:
        machine.join(120)
        if machine.exitcode != 0:
            raise RuntimeError("a machine failed")
    return [times.get() for _ in machines], cpu_seconds(server.pid) - before


def cpu_seconds(process: int) -> float:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rate(folder: Path, place: str, kind: str, trial: int) -> tuple[float, float]:
    """Requests per second of all machines together, and the server's CPU time of a request, in ms."""
    words = [sys.executable, "-m", "benchmarks.serving_volunteers", "serve", kind, str(folder), place]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            found, used = times_of(folder, server, f"{kind.replace(' ', '-')}-{trial}")
        finally:
            server.terminate()
    requests = 2 * MACHINES * BATCHES
    return requests / (max(end for _, end in found) - min(began for began, _ in found)), used / requests * 1e3


def main(words: Sequence[str] | None = None) -> bool:
    """Print the rates; whether the goal is reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", nargs="?", help="URL of an empty PostgreSQL database; by default, a file of SQLite")
    place = parser.parse_args(words).store
    measured: dict[str, list[tuple[float, float]]] = {_PLAIN: [], _LEDGER: []}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        used = place or str(folder / "store.sqlite")
        certificate(folder)
        prepare(folder, used, MACHINES * (BATCHES + WARM_UP + 1) * TRIALS)
        for trial in range(TRIALS):
            for kind, made in measured.items():
                made.append(rate(folder, used, kind, trial))
    rates = {kind: [each for each, _ in made] for kind, made in measured.items()}
    cpu = {kind: statistics.median(each for _, each in made) for kind, made in measured.items()}
    ratios = [own / other for own, other in zip(rates[_LEDGER], rates[_PLAIN], strict=True)]
    rows = [
        (kind, f"{statistics.median(found):,.0f}", f"{min(found):,.0f} to {max(found):,.0f}", f"{cpu[kind]:.1f}")
        for kind, found in rates.items()
    ]
    middle = statistics.median(ratios)
    note = f"Ratio {middle:.2f} ({min(ratios):.2f} to {max(ratios):.2f}) over {TRIALS} trials; goal >= {GOAL}."
    title = f"The server of volunteers: {MACHINES} machines, {BATCHES} batches each"
    print(table(title, ("server", "requests/s, median", "range", "CPU of a request, ms"), rows, note))
    return middle >= GOAL


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], Path(sys.argv[3]), sys.argv[4])
    else:
        sys.exit(not main())
