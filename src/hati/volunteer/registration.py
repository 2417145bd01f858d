"""This machine: the properties that its results carry, and its registration with a server.

The token and the trusted key are in files for their owner only.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import platform
import re
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional

from .connection import Connection
from .files import BAD_INPUT, JoinError, ServerRefusal, own_folder, read_json, write_json


def properties(name: str) -> dict[str, str]:
    """The machine as it is now; nothing in it changes from hour to hour."""
    return {
        "architecture": platform.machine(),
        "cpus": str(os.cpu_count() or 1),
        "kernel": platform.release(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "name": name,
        "processor": _processor(),
        "system": _system(),
    }


def about(name: str, sandbox: str, template: dict[str, Any], has: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The description of this machine that is sent to the server."""
    own = properties(name)
    return {
        "name": name,
        "os": own["system"],
        "architecture": own["architecture"],
        "cpus": cpus(),
        "python": platform.python_version(),
        "sandbox": sandbox,
        "properties": own,
        "fingerprint": hashlib.sha256(json.dumps(own, sort_keys=True, separators=(",", ":")).encode()).hexdigest(),
        "template": template,
        "has": {attribute: list(values) for attribute, values in has.items()},
    }


def cpus() -> int:
    """The number of CPUs that programs of this user may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    if sys.platform == "darwin":
        with suppress(OSError, subprocess.SubprocessError):
            asked = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(asked, capture_output=True, check=True, text=True, timeout=10.0).stdout.strip()
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^(?:model name|Hardware|cpu model)\s*:\s*(.+)$", text, re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def _system() -> str:
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        with suppress(OSError):
            found = re.search(r'^PRETTY_NAME="?([^"\n]+)"?$', Path(path).read_text(encoding="utf-8"), re.MULTILINE)
            if found:
                return found[1]
    return platform.system()


Say = Callable[[str], None]


def default_home() -> Path:
    """The folder of the client: that of ``HATI_JOIN_HOME``, else that of the user's applications' data."""
    named = os.environ.get("HATI_JOIN_HOME")
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "hati-join"
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "hati-join"


@dataclass(frozen=True)
class RegisteredMachine:
    """A registered machine: its id at the server, and the public key of the releases that it runs."""

    machine: str
    key: bytes
    folder: Path


def join(
    connection: Connection,
    home: Path,
    about: dict[str, Any],
    invitation: Optional[str],
    key: Optional[str],
    say: Say,
) -> RegisteredMachine:
    """Register this machine with a server, unless it is registered, and pin the key of its releases.

    The connection has the machine's token afterwards.

    Raises:
        JoinError: where the server refuses, or its key is not the pinned one.
        Unreachable: where it does not answer.
    """
    folder = folder_of(connection.url, home)
    trusted = _pin(connection, folder, None if key is None else _decoded(key), say)
    known = read_registration(folder)
    if known is None:
        known = _register(connection, {**about, "token": _drawn_token(folder, about["name"])}, invitation)
        write_json(folder / "machine.json", known)
        say(f"registered as {about['name']}")
    connection.token = str(known["token"])
    return RegisteredMachine(str(known["machine"]), trusted, folder)


def read_registration(folder: Path) -> Optional[dict[str, Any]]:
    """This machine's id, token and name, None where it is not registered."""
    known = read_json(folder / "machine.json")
    return known if known is not None and {"machine", "token", "name"} <= known.keys() else None


def chosen_name(folder: Path, given: Optional[str]) -> str:
    """The name of this machine: the registered one, else the given one, else the host's.

    Raises:
        JoinError: where the given one is not the registered one.
    """
    known = read_registration(folder)
    if known is None:
        return given or re.sub(r"[^A-Za-z0-9._-]", "-", platform.node()).lstrip(".-_")[:64] or "machine"
    if given is not None and given != known["name"]:
        fix = f"to register again, remove {folder / 'machine.json'}"
        raise JoinError(f"this machine is registered as {known['name']}, not as {given}", fix, BAD_INPUT)
    return str(known["name"])


def folder_of(url: str, home: Path) -> Path:
    """The folder for a server, which is created.

    Raises:
        JoinError: where it cannot be created.
    """
    return own_folder(own_folder(home) / hashlib.sha256(url.encode()).hexdigest()[:16])


def _drawn_token(folder: Path, name: str) -> str:
    """A token that is on disk before the server has it: a registration whose answer was lost is repeated with it."""
    begun = read_json(folder / "machine.json") or {}
    if begun.get("name") != name or "token" not in begun:
        begun = {"name": name, "token": secrets.token_urlsafe(32)}
        write_json(folder / "machine.json", begun)
    return str(begun["token"])


def _register(connection: Connection, about: dict[str, Any], invitation: Optional[str]) -> dict[str, Any]:
    body = {**about, "invitation": invitation} if invitation else about
    try:
        answer = connection.post("/v1/register", body).body
    except ServerRefusal as refusal:
        raise JoinError(f"{connection.url} does not register this machine: {refusal}") from None
    if not isinstance(answer.get("machine"), str) or not isinstance(answer.get("token"), str):
        raise JoinError(f"{connection.url} does not register as a Hati server does", "check the address")
    return {"url": connection.url, "name": about["name"], "machine": answer["machine"], "token": answer["token"]}


def _pin(connection: Connection, folder: Path, given: Optional[bytes], say: Say) -> bytes:
    """The trusted key: the given one, else that of the first time."""
    place = folder / "key.json"
    kept = read_json(place)
    if kept is not None:
        trusted = _decoded(str(kept.get("key")))
        if given is not None and given != trusted:
            raise JoinError(f"`--key` is not the key that {place} has", "remove that file if the owner has a new key")
        return trusted
    if given is None:
        given = _asked(connection)
        say(f"trusting the key {base64.b64encode(given).decode()} on first use; `--key` pins the owner's")
    write_json(place, {"key": base64.b64encode(given).decode()})
    return given


def _asked(connection: Connection) -> bytes:
    fix = "ask the owner of the subject for the public key, and name it with `--key`"
    try:
        key = connection.get("/v1/key").body.get("key")
    except ServerRefusal as refusal:
        raise JoinError(f"{connection.url} has no key: {refusal}", fix) from None
    return _decoded(str(key))


def _decoded(text: str) -> bytes:
    """A public key from base64, or from a file that has it.

    Raises:
        JoinError: where it is none.
    """
    if os.path.isfile(text):
        text = Path(text).read_text(encoding="utf-8", errors="replace")
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != 32:
        raise JoinError(
            f"`{text[:60]}` is not a public key", "it is 32 bytes in base64, or a file with them", BAD_INPUT
        )
    return key
