"""A PostgreSQL server of the tests' own, in a temporary folder, reached by a socket there and by nothing else."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import psycopg
from psycopg.conninfo import conninfo_to_dict

USER = "hati"
_WAIT_SECONDS = 30
_ICU_SINCE = 150_000


def programs() -> Path | None:
    """The folder of PostgreSQL's programs: Debian's newest, or that of the PATH; None where there is none."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = debian[-1] if debian else shutil.which("initdb")
    return None if found is None else Path(found).parent


class PostgresServer:
    """A server; a context manager. It ends with the tests, also when they are killed."""

    def __init__(self, folder: Path) -> None:
        self._programs = folder
        self._made = 0

    def __enter__(self) -> PostgresServer:
        self.folder = Path(tempfile.mkdtemp(prefix="hati-postgres-"))
        self._as_user: list[str] = []
        if os.geteuid() == 0:  # PostgreSQL refuses to be run by root
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as_user = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        words = ["--username", USER, "--auth", "trust", "--encoding", "UTF8", "--no-locale", "--no-sync"]
        self._run(self._programs / "initdb", "--pgdata", self.data, *words).check_returncode()
        self.start()
        with psycopg.connect(self._place("postgres")) as connection:
            self._ordered = connection.info.server_version >= _ICU_SINCE
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    @property
    def data(self) -> Path:
        """Where it keeps its files."""
        return self.folder / "data"

    @property
    def running(self) -> bool:
        """Whether its process is there."""
        return self._process.poll() is None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {"listen_addresses": "", "unix_socket_directories": self.folder, "fsync": "off"}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = self._command(self._programs / "postgres", "-D", self.data, *words)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                psycopg.connect(self._place("postgres")).close()
                break
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def stop(self) -> None:
        """End it at once, as a crash does; what was committed is kept."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(timeout=_WAIT_SECONDS)

    def reload(self) -> None:
        """Have it read its files anew, and wait until it has."""
        before = self._loaded()
        self.execute("SELECT pg_reload_conf()")
        deadline = time.monotonic() + _WAIT_SECONDS
        while self._loaded() == before:
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def database(self, template: str | None = None) -> str:
        """The URL of a new database: empty, or a copy of the one at ``template``, to which nobody is connected."""
        self._made += 1
        name = f"hati_{self._made}"
        if template is None:
            self._create(name)
        else:
            self.execute(f"CREATE DATABASE {name} TEMPLATE {conninfo_to_dict(template)['dbname']}")
        return self._place(name)

    def variables(self, name: str) -> dict[str, str]:
        """What libpq reads from the environment to reach the server, which gets a new, empty database of that name."""
        self.execute(f"DROP DATABASE IF EXISTS {name}")
        self._create(name)
        return {"PGHOST": str(self.folder), "PGUSER": USER}

    def execute(self, statement: str, place: str | None = None) -> None:
        """Let it do something, in the database at a place where one is given."""
        with psycopg.connect(place or self._place("postgres"), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]  # a literal is asked for

    def _loaded(self) -> object:
        """When the server read its files, as a new connection learns from it."""
        with psycopg.connect(self._place("postgres")) as connection:
            return connection.execute("SELECT pg_conf_load_time()").fetchone()

    def _create(self, name: str) -> None:
        """Where PostgreSQL is new enough, in a language whose order of texts is not that of the characters."""
        language = " TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'"
        self.execute(f"CREATE DATABASE {name}{language if self._ordered else ''}")

    def _place(self, name: str) -> str:
        return f"postgresql://{USER}@/{name}?host={self.folder}"

    def _command(self, *words: object) -> list[str]:
        return ["setpriv", *self._as_user, "--pdeathsig", "QUIT", *map(str, words)]

    def _run(self, *words: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(self._command(*words), cwd=self.folder, capture_output=True, check=False)
