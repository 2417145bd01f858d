"""Envelopes: what a server hands out, checked before anything of it is unpacked or run.

A release is signed offline by the owner of the subject. Everything that reaches an argument list is in its statement,
except the number of the repetition: the server chooses among signed texts, and cannot write a command of its own.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Optional

from .ed25519 import verify
from .files import EnvelopeError

ENVELOPE, RELEASE = "hati-envelope-1", "hati-release-1"
_DIGITS = re.compile(r"[0-9]{1,9}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_OWN_VALUES = frozenset({"work", "tree", "port", "repetition"})
"""Names of placeholders whose values the client sets."""
MOST_JOBS = 10_000
_LONGEST_TIMEOUT = 86_400.0

Commands = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class SignedBinding:
    """How the setting of an option reaches the command."""

    option: str
    argument: Optional[str]
    env: Optional[str]
    build: bool
    setup: Commands


@dataclass(frozen=True)
class SignedStatement:
    """What the owner of the subject signed: commands as templates, and the texts that may fill them.

    ``digest`` is that of the statement's text; ``timeout`` is in seconds; ``within`` is the folder of the artefact in
    which commands run.
    """

    digest: str
    benchmark: str
    build: Commands
    prepare: Commands
    setup: Commands
    command: tuple[str, ...]
    cleanup: Commands
    env: tuple[tuple[str, str], ...]
    bindings: tuple[SignedBinding, ...]
    output: Optional[str]
    timeout: float
    artefact: str
    within: str
    files: frozenset[str]
    settings: Mapping[str, frozenset[str]]
    values: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class CheckedJob:
    """A run to do: its task, the texts of settings and other values, and rendered files by their template of a path."""

    task: str
    settings: Mapping[str, str]
    values: Mapping[str, str]
    files: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CheckedEnvelope:
    """A batch that may be run here: every check has succeeded. ``size`` is the artefact's, in bytes."""

    statement: SignedStatement
    size: int
    jobs: tuple[CheckedJob, ...]


def opened(data: object, audience: str, key: bytes, now: float) -> CheckedEnvelope:
    """The envelope in a server's answer; ``now`` is the time since 1970 in seconds, ``key`` the owner's public key.

    Raises:
        EnvelopeError: where it has another format, is meant for another machine, has expired, is not signed with the
            key, or chooses what the statement does not permit.
    """
    fields = _Fields(data, "the envelope")
    if fields.text("format") != ENVELOPE:
        raise EnvelopeError(
            f"the envelope has the format {fields.text('format')!r}, not {ENVELOPE!r}: install a newer client"
        )
    if fields.text("audience") != audience:
        raise EnvelopeError("the envelope is meant for another machine")
    if fields.number("expires") <= now:
        raise EnvelopeError("the envelope has expired; check this machine's clock")
    statement = _signed(fields.inner("release"), key)
    artefact = fields.inner("artefact")
    if artefact.text("sha256") != statement.artefact:
        raise EnvelopeError("the envelope names another artefact than the signed statement")
    jobs = fields.list("jobs")
    if not 0 < len(jobs) <= MOST_JOBS:
        raise EnvelopeError(f"the envelope has {len(jobs)} jobs")
    return CheckedEnvelope(statement, int(artefact.number("bytes")), tuple(_job(each, statement) for each in jobs))


def _signed(release: _Fields, key: bytes) -> SignedStatement:
    text = release.text("statement")
    try:
        signature = base64.b64decode(release.text("signature"), validate=True)
    except (binascii.Error, ValueError):
        signature = b""
    if not verify(key, text.encode("utf-8", "surrogatepass"), signature):
        raise EnvelopeError("the release is not signed with the key that this machine trusts")
    try:
        data = json.loads(text)
    except ValueError:
        raise EnvelopeError("the signed statement is not JSON") from None
    return _statement(_Fields(data, "the signed statement"), hashlib.sha256(text.encode()).hexdigest())


def _statement(fields: _Fields, digest: str) -> SignedStatement:
    if fields.text("format") != RELEASE:
        raise EnvelopeError(
            f"the statement has the format {fields.text('format')!r}, not {RELEASE!r}: install a newer client"
        )
    timeout, command, artefact = fields.number("timeout"), fields.command("command"), fields.text("artefact")
    if not command or not 0 < timeout <= _LONGEST_TIMEOUT or not _SHA256.fullmatch(artefact):
        raise EnvelopeError("the signed statement has no command, no possible timeout, or no artefact")
    return SignedStatement(
        digest,
        fields.text("benchmark"),
        fields.commands("build"),
        fields.commands("prepare"),
        fields.commands("setup"),
        command,
        fields.commands("cleanup"),
        tuple((pair[0], pair[1]) for pair in fields.commands("env") if len(pair) == 2),
        tuple(_binding(_Fields(each, "a binding")) for each in fields.list("bindings")),
        fields.optional("output"),
        timeout,
        artefact,
        inside(fields.optional("within") or "."),
        frozenset(fields.command("files")),
        fields.choices("settings"),
        fields.choices("values"),
    )


def _binding(fields: _Fields) -> SignedBinding:
    return SignedBinding(
        fields.text("option"),
        fields.optional("argument"),
        fields.optional("env"),
        fields.data.get("build") is True,
        fields.commands("setup"),
    )


def _job(data: object, statement: SignedStatement) -> CheckedJob:
    fields = _Fields(data, "a job")
    settings, values = fields.texts("settings"), fields.texts("values")
    for option, text in settings.items():
        if text not in statement.settings.get(option, ()):
            raise EnvelopeError(f"{option} = {text} is not a signed setting")
    for name, text in values.items():
        permitted = _DIGITS.fullmatch(text) if name == "repetition" else text in statement.values.get(name, ())
        if not permitted or name in _OWN_VALUES - {"repetition"} or name.startswith(("file:", "env:")):
            raise EnvelopeError(f"{name} = {text} is not a signed value")
    files = tuple((each.text("path"), each.text("text")) for each in map(_file, fields.list("files")))
    for path, _ in files:
        if path not in statement.files:
            raise EnvelopeError(f"the file {path} is not one of the signed statement")
    return CheckedJob(fields.text("task"), settings, values, files)


def _file(data: object) -> _Fields:
    return _Fields(data, "a file")


def inside(path: str) -> str:
    """A relative path, checked.

    Raises:
        EnvelopeError: where it is absolute, or leads out of its folder.
    """
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or "\\" in path:
        raise EnvelopeError(f"the path {path!r} leads out of its folder")
    return str(pure)


class _Fields:
    """The fields of a JSON object, which may have any types: others than expected are refused."""

    def __init__(self, data: object, what: str) -> None:
        if not isinstance(data, dict):
            raise EnvelopeError(f"{what} is not a JSON object")
        self.data: Mapping[str, Any] = data
        self._what = what

    def text(self, name: str) -> str:
        value = self.data.get(name)
        if not isinstance(value, str):
            raise self._wrong(name)
        return value

    def optional(self, name: str) -> Optional[str]:
        return None if self.data.get(name) is None else self.text(name)

    def number(self, name: str) -> float:
        value = self.data.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e15:
            raise self._wrong(name)
        return float(value)

    def inner(self, name: str) -> _Fields:
        return _Fields(self.data.get(name), f"`{name}`")

    def list(self, name: str) -> list[Any]:
        value = self.data.get(name, [])
        if not isinstance(value, list):
            raise self._wrong(name)
        return value

    def command(self, name: str) -> tuple[str, ...]:
        value = self.list(name)
        if not all(isinstance(part, str) and "\0" not in part for part in value):
            raise self._wrong(name)
        return tuple(value)

    def commands(self, name: str) -> Commands:
        parts = self.list(name)
        return tuple(_Fields({name: part}, self._what).command(name) for part in parts)

    def texts(self, name: str) -> dict[str, str]:
        value = self.data.get(name, {})
        if not isinstance(value, dict) or not all(
            isinstance(each, str) and "\0" not in each for each in value.values()
        ):
            raise self._wrong(name)
        return value

    def choices(self, name: str) -> dict[str, frozenset[str]]:
        value = self.data.get(name, {})
        if not isinstance(value, dict):
            raise self._wrong(name)
        return {key: frozenset(_Fields(value, self._what).command(key)) for key in value}

    def _wrong(self, name: str) -> EnvelopeError:
        return EnvelopeError(f"{self._what} has no valid `{name}`")
