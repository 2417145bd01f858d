"""Requests to the server: outbound HTTPS only, JSON, one connection for each request."""

from __future__ import annotations

import email.utils
import gzip
import ipaddress
import json
import os
import random
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO, Optional

from .files import BAD_INPUT, EnvelopeError, JoinError, ServerRefusal, Unreachable

PROTOCOL = "1"
_TIMEOUT = 60.0
_LARGEST_ANSWER = 64 << 20
_CHUNK = 1 << 16
_SHORT = 512
_LONGEST_WAIT = 3600.0
_COMPRESSED = 1024
"""Bodies of more bytes are compressed."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """A token is not sent anywhere else."""


@dataclass(frozen=True)
class ServerAnswer:
    """A server's answer: its HTTP status, its JSON object, and when it asks to come back, in seconds."""

    status: int
    body: Mapping[str, Any]
    retry: Optional[float]


class Connection:
    """A server: ``ca`` is a file with the certificate that signed the server's.

    Raises:
        JoinError: where the URL is none, or would send a token unencrypted to another host.
    """

    def __init__(self, url: str, ca: Optional[Path] = None, token: str = "") -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.username:
            raise JoinError(f"`{url}` is not the address of a server", "write https://HOST[:PORT]", BAD_INPUT)
        local = _is_loopback(parts.hostname)
        if parts.scheme == "http" and not local:
            raise JoinError(f"`{url}` is not encrypted", "ask for its https address", BAD_INPUT)
        self.url, self.token = url.rstrip("/"), token
        self.registration = "the file of its registration"
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if parts.scheme == "https":
            handlers.append(urllib.request.HTTPSHandler(context=_trust(ca)))
        if local:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def post(self, path: str, body: object) -> ServerAnswer:
        """Send a JSON object.

        Raises:
            ServerRefusal: where the server refuses it.
            Unreachable: where it does not answer, or asks to come back.
            JoinError: where it refuses this client for good.
        """
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if len(data) > _COMPRESSED:
            data = gzip.compress(data, 6, mtime=0)
            headers["Content-Encoding"] = "gzip"
        return self._json(self._request("POST", path, data, headers))

    def get(self, path: str) -> ServerAnswer:
        """Ask for a JSON object; errors as those of ``post``."""
        return self._json(self._request("GET", path, None, {}))

    def download(self, path: str, target: Path, size: int) -> None:
        """Download a file of ``size`` bytes; what ``target`` has of it already is not sent again.

        Raises:
            EnvelopeError: where the server sends more than that.
            ServerRefusal, Unreachable: as for ``post``; the next call goes on from there.
            OSError: where the file cannot be written.
        """
        with target.open("ab") as file:
            begun = file.tell()
            if begun >= size:
                return
            answer = self._request("GET", path, None, {"Range": f"bytes={begun}-"} if begun else {})
            with answer:
                if begun and answer.status != 206:
                    file.truncate(0)
                    begun = 0
                self._copy(answer, file, size - begun)

    def _copy(self, answer: BinaryIO, file: BinaryIO, left: int) -> None:
        while part := self._read(answer, min(_CHUNK, left + 1)):
            if len(part) > left:
                raise EnvelopeError("the server sends more bytes than the envelope says")
            file.write(part)
            left -= len(part)
        if left:
            raise Unreachable(f"the download from {self.url} broke off")

    def _read(self, answer: BinaryIO, most: int) -> bytes:
        try:
            return answer.read(most)
        except (OSError, HTTPException) as error:
            raise Unreachable(f"the download from {self.url} broke off: {_reason(error)}") from None

    def _request(self, method: str, path: str, data: Optional[bytes], headers: Mapping[str, str]) -> Any:
        own = {"Hati-Protocol": PROTOCOL, "User-Agent": f"hati-join/{PROTOCOL}", **headers}
        if self.token:
            own["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.url + path, data, own, method=method)  # noqa: S310 - checked above
        try:
            return self._opener.open(request, timeout=_TIMEOUT)
        except urllib.error.HTTPError as error:
            raise self._refused(error) from None
        except (OSError, HTTPException) as error:
            if isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError):
                raise JoinError(
                    f"the certificate of {self.url} is not trusted: {_reason(error)}",
                    "name its authority's certificate with `--ca FILE`",
                ) from None
            raise Unreachable(f"{self.url} cannot be reached: {_reason(error)}") from None

    def _refused(self, error: urllib.error.HTTPError) -> Exception:
        reason, fix = _explanation(error)
        if error.code == 429 or error.code >= 500:
            wait = _retry(error.headers.get("Retry-After"))
            return Unreachable(f"{self.url} asks to come back later: {reason}", wait, answered=True)
        if error.code < 400:
            return JoinError(f"{self.url} leads to {error.headers.get('Location', 'another address')}", "join that one")
        if error.code == 426:
            return JoinError(f"{self.url}: {reason}", fix or "install a newer client from the server's page")
        if error.code == 401 and self.token:
            return JoinError(f"{self.url}: {reason}", f"to register again, remove {self.registration}")
        return ServerRefusal(error.code, f"{reason}; {fix}" if fix else reason)

    def _json(self, answer: Any) -> ServerAnswer:
        try:
            with answer:
                data = answer.read(_LARGEST_ANSWER + 1)
        except (OSError, HTTPException) as error:
            raise Unreachable(f"{self.url} broke off its answer: {_reason(error)}") from None
        try:
            body = json.loads(data) if data and len(data) <= _LARGEST_ANSWER else {}
        except ValueError:
            raise Unreachable(f"{self.url} does not answer with JSON; is it a Hati server?") from None
        return ServerAnswer(
            answer.status, body if isinstance(body, dict) else {}, _retry(answer.headers.get("Retry-After"))
        )


class BackOff:
    """Growing waits between attempts, in seconds, with a random part so that clients do not come back together."""

    def __init__(self, shortest: float = 1.0, longest: float = 300.0) -> None:
        self._shortest, self._longest, self._next = shortest, longest, shortest

    def reset(self) -> None:
        """Begin with the shortest wait again."""
        self._next = self._shortest

    def wait(self, asked: Optional[float] = None) -> float:
        """The next wait; ``asked`` is what the server asks for."""
        chosen = self._next * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        self._next = min(2 * self._next, self._longest)
        return max(chosen, min(asked, _LONGEST_WAIT)) if asked is not None else chosen


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _trust(ca: Optional[Path]) -> ssl.SSLContext:
    if ca is not None and not os.access(ca, os.R_OK):
        raise JoinError(f"the certificate {ca} cannot be read", "name another file with `--ca`", BAD_INPUT)
    try:
        context = ssl.create_default_context(cafile=None if ca is None else str(ca))
    except (ssl.SSLError, OSError) as error:
        raise JoinError(f"{ca} is not a certificate: {_reason(error)}", "name one in PEM format", BAD_INPUT) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _explanation(error: urllib.error.HTTPError) -> tuple[str, str]:
    """The reason and the fix in a refusal; other bodies, such as a proxy's, are not shown."""
    with suppress(OSError, ValueError, HTTPException, AttributeError):
        body = json.loads(error.read(_CHUNK))
        return str(body.get("error") or error.reason)[:_SHORT], str(body.get("fix") or "")[:_SHORT]
    return f"HTTP status {error.code}", ""


def _retry(text: Optional[str]) -> Optional[float]:
    """The seconds of a header Retry-After, which may also be a date; None where there is none."""
    if text is None:
        return None
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _reason(error: BaseException) -> str:
    inner = getattr(error, "reason", None)
    return (
        _reason(inner) if isinstance(inner, BaseException) else str(getattr(error, "strerror", None) or inner or error)
    )
