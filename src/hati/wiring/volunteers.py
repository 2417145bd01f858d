"""Keys, signed releases, and the server of volunteers."""

from __future__ import annotations

import base64
import os
import secrets
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import InputError, MeasurementError, NotInstalledError
from hati.file_errors import FULL, write_error
from hati.store import LEASE_SECONDS, Release, Volunteer
from hati.subject import Trees
from hati.wiring.strategies import choose_by
from hati.wiring.workplace import Announce, Workplace, existing_store, mute, workplace

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from fastapi import FastAPI

    from hati.document import Table


_EXTRA = 'pip install "hati[volunteers]"'


def make_key(file: Path) -> str:
    """Write a new Ed25519 key into a file that only its owner can read, and the public key next to it, as ``.pub``.

    Returns:
        The public key in base64.

    Raises:
        InputError: where a file exists, or cannot be written.
        NotInstalledError: without the extra ``volunteers``.
    """
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError as error:
        raise NotInstalledError("keys need cryptography", fix=_EXTRA) from error
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = _public(key)
    if public_file(file).exists():
        raise InputError(f"{public_file(file)} exists", fix="name another file: a lost key cannot be restored")
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
            written.write(private)
        public_file(file).write_text(f"{public}\n", encoding="ascii")
    except FileExistsError:
        raise InputError(f"{file} exists", fix="name another file: a lost key cannot be restored") from None
    except OSError as error:
        if error.errno in FULL:  # the half of a key is of no use, and the next attempt would find it
            for half in (file, public_file(file)):
                half.unlink(missing_ok=True)
        raise write_error(file, error, "name another file") from None
    return public


def public_file(file: Path) -> Path:
    """The file of the public key next to that of a private key."""
    return file.with_name(f"{file.name}.pub")


class Signed(Struct, frozen=True):
    """The result of signing: the releases, the benchmarks that volunteers cannot run with the reason, the size."""

    releases: tuple[Release, ...]
    left_out: tuple[tuple[str, str], ...]
    artefact: str
    bytes: int


def sign(path: Path, store: str | None, key_file: Path, revision: str | None, announce: Announce = mute) -> Signed:
    """Sign releases of all benchmarks of a project that volunteers can run, and put them into its store.

    ``revision`` is the name of a revision, None: the content of the folder.

    Raises:
        InputError: for any error in the project or its files, and where the key cannot be read.
        NotInstalledError: without the extra ``volunteers``.
    """
    from hati.subject.releases import archive, release_key, statement_of, unfit_for_volunteers
    from hati.subject.running.programs import RunFailure

    key = _key(key_file)
    place = workplace(path, store, announce)
    unfit = {each.name: unfit_for_volunteers(each) for each in place.project.benchmarks}
    fit = [each for each in place.project.benchmarks if not unfit[each.name]]
    if not fit:
        reasons = "; ".join(f"{name}: {why}" for name, why in unfit.items()) or "it has none"
        raise InputError(f"volunteers can run no benchmark of {place.project.file}: {reasons}")
    trees, of = _files(place, revision)
    try:
        content, within = archive(trees, of)
    except RunFailure as error:
        raise InputError(error.detail) from None
    finally:
        if revision is not None:
            trees.close()
    volunteers = place.store.volunteers
    artefact = volunteers.keep_artefact(content)
    settings = {option.name: option.settings for option in place.project.space.options}
    made = []
    for benchmark in fit:
        statement = statement_of(benchmark, settings, of, artefact, within)
        signature = base64.b64encode(key.sign(statement.encode())).decode()
        named = (release_key(benchmark, trees.sources(of)), benchmark.name, of)
        made.append(Release(*named, statement, signature, _public(key), artefact, time.time()))
        volunteers.keep_release(made[-1])
    left_out = tuple((name, why) for name, why in unfit.items() if why)
    return Signed(tuple(made), left_out, artefact, len(content))


def registered(path: Path, store: str | None) -> tuple[Volunteer, ...]:
    """The machines that ever registered, by name."""
    return existing_store(path, store).volunteers.all()


def volunteers_table(found: Sequence[Volunteer]) -> Table:
    """The registered machines as a table."""
    from hati.document import Align, Column, Table

    columns = (
        Column("machine"),
        Column("CPUs", align=Align.RIGHT),
        Column("system"),
        Column("sandbox"),
        Column("registered"),
        Column("revoked"),
    )
    rows = tuple(
        (
            each.name,
            each.client.get("cpus"),
            each.client.get("os"),
            each.client.get("sandbox"),
            _time(each.registered),
            None if each.revoked is None else _time(each.revoked),
        )
        for each in found
    )
    return Table("Volunteers", columns, rows, ("Times are UTC.",))


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


def revoke(path: Path, store: str | None, name: str) -> bool:
    """Revoke the token of a machine; False where that was done before.

    Raises:
        InputError: for an unknown name.
    """
    return existing_store(path, store).volunteers.revoke(name)


class Address(Struct, frozen=True):
    """Where a server listens, and the files of its certificate; HTTPS is required except on the loopback interface.

    Raises:
        InputError: where a certificate is needed, or a file of it is missing.
    """

    host: str = "127.0.0.1"
    port: int = 8443
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InputError("--certificate and --key belong together", fix="give both")
        if self.certificate is None and not _loopback(self.host):
            raise InputError(
                f"{self.host} can be reached by other machines, and tokens need HTTPS",
                fix="give --certificate FILE and --key FILE, or listen on 127.0.0.1 behind a proxy that has HTTPS",
            )
        for file in filter(None, (self.certificate, self.key)):
            if not file.is_file():
                raise InputError(f"there is no file {file}", fix="give the PEM files of a certificate and its key")

    @property
    def url(self) -> str:
        """The address for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.certificate is None else 'https'}://{host}:{self.port}"


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def new_invitation() -> str:
    """A random invitation."""
    return secrets.token_urlsafe(12)


def volunteers_app(
    path: Path, store: str | None, invitation: str, lease: float = LEASE_SECONDS, strategy: str = "fair"
) -> FastAPI:
    """The application that serves volunteers of the project at a path; anybody may register without an invitation.

    The ``strategy`` of that name chooses among the waiting batches.

    Raises:
        InputError: for any error in the project, and for an unknown strategy.
        NotInstalledError: without the extra ``volunteers``.
    """
    try:
        from hati.gateway import Gateway, Setup, make_app
    except ImportError as error:
        raise NotInstalledError("the server of volunteers needs FastAPI", fix=_EXTRA) from error
    return make_app(
        Gateway(workplace(path, store).store, Setup(invitation, lease, choose_by(strategy))), _client_program
    )


def serve_volunteers(app: FastAPI, address: Address, ready: Callable[[str], None] = mute) -> None:
    """Serve until the process is asked to end; ``ready`` is called with the address once it listens.

    Raises:
        MeasurementError: where the address cannot be used.
        InputError: where the certificate cannot be used.
        NotInstalledError: without the extra ``volunteers``.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise NotInstalledError("the server of volunteers needs uvicorn", fix=_EXTRA) from error

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                port = self.servers[0].sockets[0].getsockname()[1]
                ready(Address(address.host, port, address.certificate, address.key).url)

    config = uvicorn.Config(
        app,
        host=address.host,
        port=address.port,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        log_level="warning",
        access_log=False,  # a log of requests would have addresses, and adds nothing to the ledger
        server_header=False,
        limit_concurrency=512,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
    )
    try:
        config.load()
    except (OSError, ValueError) as error:
        raise InputError(
            f"the certificate cannot be used: {error}", fix="give PEM files that belong together"
        ) from None
    server = Server(config)
    try:
        server.run()
    except SystemExit:
        raise MeasurementError(f"cannot listen on {address.url}", fix="choose another --host or --port") from None


@cache
def _client_program() -> bytes:
    from hati.volunteer.zipapp import archive

    return archive()


def _files(place: Workplace, revision: str | None) -> tuple[Trees, str]:
    """The files to sign, and the id of their revision."""
    if revision is None:
        assert place.folder is not None, "a project has a folder"
        return place.folder, place.folder.revision
    revisions = place.revisions()
    found = revisions.find(revision)
    return revisions.trees(place.project.root), found.id


def _key(file: Path) -> Ed25519PrivateKey:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as error:
        raise NotInstalledError("signatures need cryptography", fix=_EXTRA) from error
    try:
        key = load_pem_private_key(file.read_bytes(), None)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}", fix="`hati grid key --out FILE` makes one") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(f"{file} is not a private key", fix="`hati grid key --out FILE` makes one") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{file} is not an Ed25519 key", fix="`hati grid key --out FILE` makes one")
    return key


def _public(key: Ed25519PrivateKey) -> str:
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()
