"""A server of the volunteers' protocol for tests: HTTPS, scripted batches, and faults on request."""

from __future__ import annotations

import base64
import datetime
import gzip
import hashlib
import io
import ipaddress
import json
import ssl
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for the loopback that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "server.pem").write_bytes(made.public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.key").write_bytes(private)
    return folder / "server.pem", folder / "server.key"


def archive(files: dict[str, str | tarfile.TarInfo], *, executable: tuple[str, ...] = ()) -> bytes:
    """A compressed tar file with these files; a ``TarInfo`` is a member without content."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            about = tarfile.TarInfo(name)
            about.size = len(content.encode())
            about.mode = 0o755 if name in executable else 0o644
            tar.addfile(about, io.BytesIO(content.encode()))
    return made.getvalue()


@dataclass
class Owner:
    """The owner of a subject, who signs releases."""

    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public(self) -> str:
        raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        return base64.b64encode(self.private.public_key().public_bytes(*raw)).decode()

    def release(self, artefact: bytes, **about: Any) -> dict[str, str]:
        statement = {
            "format": "hati-release-1",
            "benchmark": "main",
            "build": [],
            "prepare": [],
            "setup": [],
            "command": ["true"],
            "cleanup": [],
            "env": [],
            "bindings": [],
            "output": None,
            "timeout": 10.0,
            "artefact": hashlib.sha256(artefact).hexdigest(),
            "files": [],
            "settings": {"level": ["1", "2"]},
            "values": {"size": ["10"], "revision": ["r1"]},
            **about,
        }
        text = json.dumps(statement, sort_keys=True, separators=(",", ":"))
        return {"statement": text, "signature": base64.b64encode(self.private.sign(text.encode())).decode()}


def job(task: str, **about: Any) -> dict[str, Any]:
    return {
        "task": task,
        "settings": {"level": "1"},
        "values": {"size": "10", "revision": "r1", "repetition": "1"},
        "files": [],
        **about,
    }


@dataclass
class Script:
    """What the server hands out, and what it received."""

    owner: Owner = field(default_factory=Owner)
    artefacts: dict[str, bytes] = field(default_factory=dict)
    batches: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 30.0
    answers: list[tuple[str, int, dict[str, str], dict[str, str]]] = field(default_factory=list)
    """Refusals by the beginning of the path, each used once: status, headers, body."""
    drop: dict[str, int] = field(default_factory=dict)
    """The number of replies that are lost after commit, by the beginning of the path."""
    cut: int = 0
    """The number of bytes after which the first download breaks off."""
    renewal: tuple[int, str] = (200, "leased")
    claims: dict[str, int] = field(default_factory=dict)
    machines: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    ends: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], float]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def batch(self, tree: dict[str, Any], jobs: list[dict[str, Any]], /, **about: Any) -> dict[str, Any]:
        """Release a batch for the machine `m1`; the envelope may be changed before it is claimed."""
        artefact = archive(tree)
        digest = hashlib.sha256(artefact).hexdigest()
        self.artefacts[digest] = artefact
        envelope = {
            "format": "hati-envelope-1",
            "study": "s",
            "audience": "m1",
            "expires": time.time() + 600.0,
            "release": self.owner.release(artefact, **about),
            "artefact": {"sha256": digest, "bytes": len(artefact)},
            "jobs": jobs,
            "order": "sequence",
        }
        self.batches.append(envelope)
        return envelope

    @property
    def tasks(self) -> list[str]:
        """The tasks of the results, each time that one was received."""
        return [result["task"] for result in self.results]

    def stdout(self, number: int = 0) -> str:
        return base64.b64decode(self.results[number]["stdout"]).decode()

    def respond(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        if path == "/v1/register":
            taken = [each["token"] for each in self.machines if each["name"] == body["name"]]
            if taken and body["token"] not in taken:
                return 409, {"error": "the name is taken"}
            self.machines.append(body)
            return 201, {"machine": "m1", "token": "secret"}
        if path == "/v1/claim":
            return self._claim(body)
        if path == "/v1/renew":
            status, state = self.renewal
            return status, {"until": time.time() + self.seconds, "state": state, "error": "the lease is lost"}
        if path == "/v1/result":
            known = body["task"] in self.tasks
            self.results.append(body)
            return 200, {"accepted": "duplicate" if known else "accepted"}
        if path == "/v1/end":
            self.ends.append(body)
            return 200, {}
        return 404, {"error": "there is no such path"}

    def _claim(self, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        key = body["key"]
        if key not in self.claims:
            if len(self.claims) >= len(self.batches):
                return 204, None
            self.claims[key] = len(self.claims)
        number = self.claims[key]
        lease = {"batch": number, "attempt": 1, "until": time.time() + self.seconds, "seconds": self.seconds}
        left = [job for job in self.batches[number]["jobs"] if job["task"] not in self.tasks]
        if not left:
            return 204, None
        return 200, {"lease": {**lease, "envelope": {**self.batches[number], "jobs": left}}}


class _Handler(BaseHTTPRequestHandler):
    script: Script
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        if self._refused():
            return
        with self.script.lock:
            status, body = self.script.respond(self.path, json.loads(data))
        self._send(status, body)

    def do_GET(self) -> None:
        if self._refused():
            return
        if self.path == "/v1/key":
            self._send(200, {"key": self.script.owner.public})
        elif (digest := self.path.rsplit("/", 1)[1]) in self.script.artefacts:
            self._artefact(self.script.artefacts[digest])
        else:
            self._send(404, {"error": "there is no such artefact"})

    def _artefact(self, data: bytes) -> None:
        begin = int(self.headers.get("Range", "bytes=0-")[6:-1])
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        if self.script.cut:
            data, self.script.cut = data[: begin + self.script.cut], 0
            self.close_connection = True
        self.wfile.write(data[begin:])

    def _refused(self) -> bool:
        script = self.script
        script.requests.append((self.path, dict(self.headers), time.monotonic()))
        for refusal in script.answers:
            beginning, status, headers, body = refusal
            if self.path.startswith(beginning):
                script.answers.remove(refusal)
                self._send(status, body, headers)
                return True
        return False

    def _send(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        for beginning in [each for each, left in self.script.drop.items() if left and self.path.startswith(each)]:
            self.script.drop[beginning] -= 1
            self.close_connection = True
            return
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status == 204:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def serving(script: Script, files: tuple[Path, Path], port: int = 0) -> Iterator[str]:
    """Serve a script over HTTPS, and yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"script": script}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
