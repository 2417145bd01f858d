"""A Dask scheduler of the tests' own under mutual TLS, and workers of Hati that register there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HATI = str(Path(sys.executable).with_name("hati"))
_HOST = "127.0.0.1"
_WAIT_SECONDS = 60
ROLES = ("scheduler", "worker", "client")


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
        certificate = self._certificate(self._name, self._key.public_key(), None)
        self.path = folder / "ca.pem"
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def variables(self, *roles: str) -> dict[str, str]:
        """Dask's variables for a certificate and a key of each role."""
        found = {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(self.path)}
        for role in roles:
            certificate, key = self._issue(role)
            found[f"DASK_DISTRIBUTED__COMM__TLS__{role.upper()}__CERT"] = str(certificate)
            found[f"DASK_DISTRIBUTED__COMM__TLS__{role.upper()}__KEY"] = str(key)
        return found

    def _issue(self, role: str) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, role)])
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(_HOST))])
        certificate = self._certificate(name, key.public_key(), names)
        paths = self._folder / f"{role}.pem", self._folder / f"{role}-key.pem"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        paths[1].write_bytes(key.private_bytes(*form))
        return paths

    def _certificate(
        self, name: x509.Name, key: ec.EllipticCurvePublicKey, names: x509.SubjectAlternativeName | None
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self._name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=names is None, path_length=None), critical=True)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256())


class Scheduler:
    """A scheduler, which can be killed and started again at the same address; a context manager."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder / "certificates")
        self.variables = self.authority.variables(*ROLES)
        self._folder = folder
        self.address = ""

    def __enter__(self) -> Scheduler:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, at a port that it chooses the first time, and wait until it listens."""
        self._connection.unlink(missing_ok=True)
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--protocol", "tls"]
        command += ["--host", _HOST, "--port", self.address.rpartition(":")[2] or "0"]
        command += ["--scheduler-file", str(self._connection)]
        with (self._folder / "scheduler.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, env={**os.environ, **self.variables}, stdout=log, stderr=log, cwd=self._folder
            )
        wait_for(self._listens)

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait()

    @property
    def _connection(self) -> Path:
        """The file in which it writes its address once it listens."""
        return self._folder / "scheduler.json"

    def _listens(self) -> bool:
        assert self._process.poll() is None, (self._folder / "scheduler.log").read_text()
        try:
            self.address = json.loads(self._connection.read_text())["address"]
        except (FileNotFoundError, json.JSONDecodeError):  # not there yet, or written in part
            return False
        return True


class Processes:
    """Processes of the tests', which end with it; a context manager."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for process in tuple(self._started):
            self.end(process, signal.SIGKILL)

    def start(self, command: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[str]:
        """Start one, whose output goes into a file."""
        with log.open("a") as out:
            process = subprocess.Popen(
                command, env={**os.environ, **environment}, stdout=out, stderr=out, text=True, start_new_session=True
            )
        self._started.append(process)
        return process

    def end(self, process: subprocess.Popen[str], number: signal.Signals) -> int:
        """Signal one, and wait for its end; its status."""
        self._started.remove(process)
        process.send_signal(signal.SIGCONT)
        process.send_signal(number)
        return process.wait(timeout=_WAIT_SECONDS)


class HatiWorkers:
    """Processes of ``hati worker``, each with a copy of a project; a context manager that ends them."""

    def __init__(self, scheduler: Scheduler, folder: Path) -> None:
        self._scheduler, self._folder = scheduler, folder
        self.store = folder / "store.sqlite"
        self._processes = Processes()

    def __enter__(self) -> HatiWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.__exit__()

    def start(self, project: Path, name: str) -> subprocess.Popen[str]:
        """Start one on a machine of that name, and wait until it is registered."""
        copy, log = self._folder / name, self._folder / f"{name}.log"
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".hati", ".git"))
        variables = {"HATI_MACHINE": name, "HATI_LOCK": str(self._folder / f"lock-{name}"), **self._scheduler.variables}
        words = ["worker", str(copy), "--store", str(self.store), "--scheduler", self._scheduler.address]
        process = self._processes.start([HATI, *words], variables, log)
        wait_for(lambda: process.poll() is not None or "registered" in log.read_text())
        assert process.poll() is None, log.read_text()
        return process

    def end(self, process: subprocess.Popen[str]) -> int:
        """Ask one to end; its status."""
        return self._processes.end(process, signal.SIGTERM)


@contextmanager
def with_variables(variables: dict[str, str]) -> Iterator[None]:
    """Dask's configuration of this process, as if its environment had these variables."""
    import dask
    import distributed  # noqa: F401 - which adds its defaults

    names = {name: name.removeprefix("DASK_").lower().replace("__", ".").replace("_", "-") for name in variables}
    with dask.config.set({names[name]: value for name, value in variables.items()}):
        yield
