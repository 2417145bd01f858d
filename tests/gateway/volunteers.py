"""A project, its server in a process of its own, and machines that speak the protocol, for tests."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import re
import secrets
import signal
import ssl
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hati.core.benchmark import fill

INVITATION = "come-in-please"
SUBJECT = """
import json, sys
level, cache = sys.argv[1], "--cache" in sys.argv
print(json.dumps({"metric": "latency", "values": [0.01 * int(level) * (0.5 if cache else 1.0)] * 3}))
"""
PROJECT = f"""
[subject]
name = "lent"

[options.level]
settings = [1, 2, 3]

[options.cache]
settings = [false, true]
argument = "--cache"

[[benchmark]]
name = "main"
command = ["{sys.executable}", "-S", "subject.py", "{{level}}"]
reader = "hati"

[[benchmark.metric]]
name = "latency"
unit = "s"
"""
HATI = (sys.executable, "-m", "hati")


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-made certificate for 127.0.0.1, and its key, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hati test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "certificate.key"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, *private))
    return files


class Served:
    """`hati serve --volunteers` in a process of its own, with HTTPS."""

    def __init__(self, project: Path, store: Path, *words: str) -> None:
        self.project, self.store, self._words = project, store, words
        self.certificate, self.key = certificate(Path(tempfile.mkdtemp(dir=store.parent)))
        self.said = ""
        self.start("0")

    def start(self, port: str) -> None:
        """Start the server, and wait until it listens."""
        command = [*HATI, "serve", str(self.project), "--volunteers", "--store", str(self.store), "--port", port]
        command += ["--certificate", str(self.certificate), "--key", str(self.key), *self._words]
        if "--open" not in self._words:
            command += ["--invitation", INVITATION]
        environment = {**os.environ, "PYTHONFAULTHANDLER": "1"}
        streams: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment, **streams)
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line
            if found := re.search(r"hati join (https?://\S+)", line):
                self.url = found[1]
                return
        raise AssertionError(self.said)

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2]

    def http(self) -> httpx.Client:
        """A client that trusts the server's certificate only."""
        trusted = ssl.create_default_context(cafile=str(self.certificate))
        return httpx.Client(base_url=self.url, verify=trusted, timeout=30.0, trust_env=False)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        _, said = self.process.communicate()
        self.said += said

    def autopsy(self) -> str:
        """End it; its status, and all that it wrote, with where each of its threads was."""
        self.process.send_signal(signal.SIGABRT)  # Python's faulthandler shows the threads
        _, said = self.process.communicate(timeout=30)
        return f"the server ended with {self.process.returncode}: {self.said}{said}"

    def close(self) -> None:
        """End it as its owner does."""
        self.process.terminate()
        _, said = self.process.communicate(timeout=30)
        self.said += said


def describe(name: str) -> dict[str, Any]:
    """What a machine says of itself."""
    properties = {"architecture": "x86_64", "cpus": "2", "kernel": "6.1", "memory": "4 GiB", "name": name}
    return {
        "name": name,
        "os": "Linux",
        "architecture": "x86_64",
        "cpus": 2,
        "python": "3.11",
        "sandbox": "none (declared by owner)",
        "properties": {**properties, "processor": "test", "system": "Debian"},
    }


class Volunteer:
    """A machine that speaks the protocol, and runs what it gets."""

    def __init__(self, http: httpx.Client, name: str, token: str = "", invitation: str = INVITATION) -> None:
        self.http, self.name, self.token, self.machine = http, name, token, ""
        if not token:
            done = self.post("register", {**describe(name), "invitation": invitation})
            assert done.status_code == 201, done.text
            self.token, self.machine = done.json()["token"], done.json()["machine"]

    @property
    def headers(self) -> dict[str, str]:
        own = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"Hati-Protocol": "1", **own}

    def post(self, verb: str, message: object, **headers: str) -> httpx.Response:
        content = gzip.compress(json.dumps(message).encode())
        sent = {**self.headers, "Content-Encoding": "gzip", "Content-Type": "application/json", **headers}
        return self.http.post(f"/v1/{verb}", content=content, headers=sent)

    def claim(self, key: str = "") -> httpx.Response:
        return self.post("claim", {"key": key or secrets.token_hex(8), "client": describe(self.name)})

    def files(self, sha256: str, folder: Path) -> Path:
        """The unpacked artefact."""
        place = folder / f"{self.name}-{sha256[:8]}"
        if not place.exists():
            found = self.http.get(f"/v1/artefacts/{sha256}", headers=self.headers)
            assert found.status_code == 200, found.text
            assert hashlib.sha256(found.content).hexdigest() == sha256
            with tarfile.open(fileobj=io.BytesIO(found.content)) as tar:
                tar.extractall(place, filter="data")
        return place

    def run(self, lease: Mapping[str, Any], job: Mapping[str, Any], folder: Path, public: str) -> dict[str, Any]:
        """The raw result of a job: the release's signature is checked, and its command is run."""
        release = lease["envelope"]["release"]
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public))
        key.verify(base64.b64decode(release["signature"]), release["statement"].encode())
        said = json.loads(release["statement"])
        values = {**job["settings"], **job["values"]}
        argv = [fill(part, values) for part in said["command"]]
        flags = {each["option"]: each["argument"] for each in said["bindings"] if each["argument"]}
        argv += [flag for option, flag in flags.items() if job["settings"].get(option) == "true"]
        began = time.time()
        done = subprocess.run(argv, cwd=self.files(said["artefact"], folder), capture_output=True, check=False)
        return result(lease, job["task"], done.stdout, began=began, status=done.returncode)

    def work(self, folder: Path, public: str) -> list[str]:
        """Run one batch; the ids of its tasks."""
        answer = self.claim()
        if answer.status_code != 200:
            assert answer.status_code == 204, answer.text
            return []
        lease = answer.json()["lease"]
        for job in lease["envelope"]["jobs"]:
            done = self.post("result", self.run(lease, job, folder, public))
            assert done.json()["accepted"] in {"accepted", "reported"}, done.text
        return [job["task"] for job in lease["envelope"]["jobs"]]


def result(
    lease: Mapping[str, Any], task: str, stdout: bytes, began: float = 0.0, status: int = 0, **changes: object
) -> dict[str, Any]:
    """The message of a raw result."""
    usage = {"wall": 0.1, "user": 0.1, "system": 0.0, "peak": 2**20, "voluntary": 1, "involuntary": 0, "load": 0.1}
    return {
        "batch": lease["batch"],
        "attempt": lease["attempt"],
        "task": task,
        "began": began or time.time(),
        "seconds": 0.2,
        "outcome": "failed" if status else "completed",
        "detail": f"ended with {status}" if status else "",
        "stdout": base64.b64encode(stdout).decode(),
        "output": None,
        "status": status,
        "usage": usage,
        "digest": hashlib.sha256(stdout).hexdigest(),
        **changes,
    }


def hati(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command of Hati, run to its end."""
    found = {**os.environ, **environment}
    return subprocess.run([*HATI, *words], capture_output=True, text=True, check=False, env=found, timeout=120)


def release(project: Path, store: Path, number: int, *, each: int = 1, replicas: int = 1) -> list[str]:
    """Release batches of ``each`` jobs to volunteers, of whom ``replicas`` have to agree; the ids of their tasks."""
    from contextlib import closing

    from hati.campaign import JobMaker
    from hati.core import Batch, Configuration, StudyId
    from hati.engine import VolunteersEngine
    from hati.steering import Requirements
    from hati.wiring.workplace import workplace

    place = workplace(project, str(store))
    assert place.folder is not None
    (benchmark,) = place.project.benchmarks
    study = StudyId.of("measurement", {"drawn": secrets.token_hex(8)}, 1, place.machine.id)
    maker, tasks = JobMaker({benchmark.name: benchmark}, place.folder.sources), list[str]()
    engine = VolunteersEngine(
        place.store.ledger, place.store.volunteers, [benchmark], print, Requirements(replicas=replicas)
    )
    with closing(place.store):
        place.store.begin(study, benchmark.metrics, place.machine)
        for first in range(0, number * each, each):
            configuration = Configuration({"level": 1 + first % 3, "cache": bool(first % 2)})
            own = [benchmark.task(study, "design", configuration, place.revision, first + i) for i in range(each)]
            engine.submit(Batch(tuple(map(maker.job, own))))
            tasks += [task.id for task in own]
    return tasks


PRINTED = b'{"metric": "latency", "values": [0.01, 0.02]}\n'


def withdraw_all(store: Path) -> None:
    """Withdraw all batches of a store, and end the leases of all machines."""
    from contextlib import closing

    from hati.store import EntryKind, open_store

    with closing(open_store(str(store))) as found:
        for worker in found.ledger.workers():
            found.ledger.leave(worker)
        released = [entry.number for entry in found.ledger.history() if entry.what is EntryKind.RELEASED]
        for number, state in found.ledger.states(released).items():
            if not state.final:
                found.ledger.withdraw(number)
