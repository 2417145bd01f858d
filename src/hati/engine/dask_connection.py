"""What campaigns and workers agree on when they meet at a Dask scheduler: certificates, labels, and the one task.

A task of Dask is only a request: "run the next batch that the ledger has for your machine". Batches and results go
through the ledger, so a request that is lost, or is made twice, does no harm.
"""

from __future__ import annotations

import logging
import ssl
from asyncio import wrap_future
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from hati.core import InputError
from hati.project import ClusterAddress

if TYPE_CHECKING:
    from distributed import Security

Role = Literal["client", "worker", "scheduler"]
_MACHINE, _WORKER = "hati-machine:", "hati-worker:"
_INSTALL = "install it: pip install 'hati[grid]'"


class NothingToRun(Exception):  # noqa: N818 - an answer, not an error
    """The ledger has no batch for the machine that was asked."""


async def run_next_batch() -> None:
    """Have the worker of this machine run the next batch, whose results are in the ledger when this returns.

    Raises:
        NothingToRun: where there is none for the machine.
    """
    from distributed import get_worker

    worker: Any = get_worker()
    if not await wrap_future(worker.hati_requests.add()):
        raise NothingToRun


def labels(machine: str, worker: str) -> dict[str, float]:
    """The resources of a Dask worker: the machine, of which a request needs all, and the worker's key."""
    return {machine_label(machine): 1.0, f"{_WORKER}{worker}": 1.0}


def machine_label(machine: str) -> str:
    """The resource that a request to a machine needs."""
    return f"{_MACHINE}{machine}"


def labelled(resources: Mapping[str, float]) -> tuple[str, str] | None:
    """The machine and the worker's key among a Dask worker's resources; None for a worker that is not Hati's."""
    found = {prefix: name.removeprefix(prefix) for name in resources for prefix in _PREFIXES if name.startswith(prefix)}
    return (found[_MACHINE], found[_WORKER]) if len(found) == len(_PREFIXES) else None


_PREFIXES = (_MACHINE, _WORKER)


def prepare_dask() -> None:
    """Load Dask, and silence it: what goes wrong is reported by Hati.

    Raises:
        InputError: where it is not installed.
    """
    try:
        import distributed  # noqa: F401 - whether it is installed
    except ModuleNotFoundError:
        raise InputError("clusters need Dask", fix=_INSTALL) from None
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def security_of(address: ClusterAddress, role: Role) -> Security:
    """The certificates of Dask's configuration, with which both ends prove who they are.

    Raises:
        InputError: where an address needs them, and one is missing or cannot be used.
    """
    from distributed import Security

    if address.scheme != "tls":
        return Security()
    settings = {"ca_file": "ca-file", "cert": f"{role}.cert", "key": f"{role}.key"}
    made = Security(require_encryption=True)
    found: dict[str, Any] = made.get_tls_config_for_role(role)
    for field, name in settings.items():
        if not found[field]:
            raise InputError(
                f"{address} needs a certificate: `distributed.comm.tls.{name}` is not set in Dask's configuration",
                fix=f"set it in ~/.config/dask/tls.yaml, or set {_variable(name)} to the path of a PEM file",
            )
    try:
        made.get_connection_args(role)
    except (OSError, ssl.SSLError) as error:
        paths = ", ".join(str(found[field]) for field in settings)
        raise InputError(
            f"a certificate for {address} cannot be used: {error.strerror or error} ({paths})",
            fix="correct `distributed.comm.tls` in Dask's configuration",
        ) from None
    return made


def reason_of(error: BaseException) -> str:
    """The innermost reason of a failed connection that is in words."""
    reason, cause = type(error).__name__, error.__cause__
    reason = " ".join(str(error).split()) or reason
    while cause is not None:
        reason = " ".join(str(cause).split()) or reason
        cause = cause.__cause__
    return reason


def _variable(name: str) -> str:
    """The environment variable that sets a value of Dask's configuration."""
    words = name.upper().replace(".", "__").replace("-", "_")
    return f"DASK_DISTRIBUTED__COMM__TLS__{words}"
