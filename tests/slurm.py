"""Slurm of the tests' own on this host: munged, slurmctld, and a slurmd for each of two nodes."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "sinfo")
NODES = ("node1", "node2")
_PATH = f"{os.environ['PATH']}:/usr/sbin"
_WAIT_SECONDS = 60
_ATTEMPTS = 3
_TAKEN = "Address already in use"

CONFIGURATION = """
ClusterName=tests
SlurmctldHost={host}({address})
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
KillWait=5
{nodes}
PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """The programs that are not installed; all, for who is not root: slurmd starts jobs as other users."""
    return [name for name in PROGRAMS if os.geteuid() != 0 or shutil.which(name, path=_PATH) is None]


class Slurm:
    """The daemons; a context manager. ``variables`` let the commands of Slurm find them."""

    def __enter__(self) -> Slurm:
        self.folder = Path(tempfile.mkdtemp(prefix="hati-slurm-"))
        self.folder.chmod(0o755)
        self.variables = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self._started: list[subprocess.Popen[bytes]] = []
        for name in ("state", *NODES):
            (self.folder / name).mkdir()
        try:
            self._munge()
            self._daemons()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._end(0)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *words: str, **variables: str) -> str:
        """What one of Slurm's commands prints."""
        environment = {**os.environ, "PATH": _PATH, **self.variables, **variables}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, cwd=self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _daemons(self) -> None:
        """Start the daemons; at other ports where another process took one before they were bound."""
        before = len(self._started)
        for left in reversed(range(_ATTEMPTS)):
            self._write()
            try:
                self._start("slurmctld", "-D", "-c")
                for node in NODES:
                    self._start("slurmd", "-D", "-N", node)
                self._await()
            except AssertionError as error:
                if not left or _TAKEN not in str(error):
                    raise
                self._end(before)
            else:
                return

    def _end(self, before: int) -> None:
        """End the processes that were started after the first ones."""
        for process in reversed(self._started[before:]):
            process.kill()
            process.wait()
        del self._started[before:]

    def _write(self) -> None:
        ports = unused_ports(1 + len(NODES))
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 // 2
        host, address = socket.gethostname(), own_address()
        each = f"NodeHostname={host} NodeAddr={address} CPUs=1 RealMemory={memory // len(NODES)} State=UNKNOWN"
        nodes = "\n".join(f"NodeName={name} Port={port} {each}" for name, port in zip(NODES, ports[1:], strict=True))
        text = CONFIGURATION.format(
            host=host, address=address, ports=ports, folder=self.folder, nodes=nodes, names=",".join(NODES)
        )
        (self.folder / "slurm.conf").write_text(text)

    def _munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        words = [f"--{option}={self.folder}/munge.{ending}" for option, ending in names.items()]
        self._start("munged", "--foreground", "--force", *words)
        self._until((self.folder / "munge.socket").exists)

    def _start(self, *words: str) -> None:
        with (self.folder / "output").open("ab") as log:
            environment = {**os.environ, "PATH": _PATH, **self.variables}
            self._started.append(subprocess.Popen(words, env=environment, stdout=log, stderr=log))

    def _await(self) -> None:
        self._until(lambda: self._idle() == len(NODES))

    def _idle(self) -> int:
        words = ["sinfo", "--noheader", "--Node", "--format", "%t"]
        environment = {**os.environ, **self.variables}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        return done.stdout.split().count("idle")

    def _until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _WAIT_SECONDS
        while not condition():
            assert time.monotonic() < deadline, self._logs()
            assert all(process.poll() is None for process in self._started), self._logs()
            time.sleep(0.05)

    def _logs(self) -> str:
        files = [self.folder / "output", *self.folder.glob("*.log")]
        return "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in files if path.exists())


def own_address() -> str:
    """The address of this host that is not loopback; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("192.0.2.1", 9))
        return str(asking.getsockname()[0])


def unused_ports(number: int) -> list[int]:
    """Ports that nobody listens at now: Slurm's configuration has them before its daemons are started."""
    asking = [socket.socket() for _ in range(number)]
    for each in asking:
        each.bind(("", 0))
    ports = [int(each.getsockname()[1]) for each in asking]
    for each in asking:
        each.close()
    return ports
