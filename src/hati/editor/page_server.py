"""The server of the page: for one person, on the loopback interface, by an address with a token that works once.

The token is exchanged for a cookie. Requests whose ``Host`` or ``Origin`` is another's are refused: a web page
elsewhere may resolve its own name to this machine (DNS rebinding), or send forms here.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from hati.core import HatiError
from hati.editor.edited_file import EditedFile, EditorState, EditProblem
from hati.generate.editing import Edit

_PAGE = Path(__file__).parent / "page"
_TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript"}
_MOST_BYTES = 1 << 20
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _RefusedError(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class PageServer(ThreadingHTTPServer):
    """Serves the page of a file; ``address`` is where a browser opens it, once."""

    daemon_threads = True

    def __init__(self, edited: EditedFile, schema: Mapping[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = Lock()
        self.schema = msgspec.json.encode(schema)
        self.port = int(self.server_address[1])
        self.cookie = f"hati-editor-{self.port}"  # cookies do not tell ports apart
        self.session = secrets.token_urlsafe(24)
        self._token = secrets.token_urlsafe(24)
        self.address = f"http://127.0.0.1:{self.port}/?token={self._token}"
        self.actions: dict[str, Callable[[bytes], EditorState]] = {
            "/state": lambda _: edited.state(),
            "/edit": lambda body: edited.edit(msgspec.json.decode(body, type=list[Edit])),
            "/undo": lambda _: edited.undo(),
            "/redo": lambda _: edited.redo(),
            "/reload": lambda _: edited.reload(),
            "/save": lambda _: edited.save(),
        }

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, other than that the browser went away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def redeemed(self, token: str) -> bool:
        """Whether this is the token, which is used up by asking."""
        with self.lock:
            valid = bool(self._token) and secrets.compare_digest(token.encode(), self._token.encode())
            self._token = "" if valid else self._token
            return valid


def page_server(edited: EditedFile, schema: Mapping[str, Any]) -> PageServer:
    """A server on a free port of the loopback interface, which does not serve yet."""
    return PageServer(edited, schema)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "hati"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """A part of the page, the schema, or the exchange of the token."""
        self._answered(self._get)

    def do_POST(self) -> None:
        """An action on the file."""
        self._answered(self._post)

    def log_message(self, *_: Any) -> None:
        """Nothing: a log would have the token."""

    def _answered(self, answer: Callable[[], None]) -> None:
        try:
            self._check_host()
            answer()
        except _RefusedError as error:
            closing = {"Connection": "close"}  # what it sends further is not read
            self._send(error.status, "text/plain; charset=utf-8", f"{error}\n".encode(), closing)

    def _check_host(self) -> None:
        if self.headers.get_all("Host", []) != [f"127.0.0.1:{self.server.port}"]:
            raise _RefusedError(421, "the request is for another host")

    def _get(self) -> None:
        address = urlsplit(self.path)
        token = parse_qs(address.query).get("token", [""])[0]
        if token and address.path == "/":
            self._enter(token)
            return
        self._check_session()
        if address.path == "/schema":
            self._send(200, "application/json", self.server.schema)
            return
        file = _PAGE / (address.path.removeprefix("/") or "index.html")
        if file.parent != _PAGE or file.suffix not in _TYPES or not file.is_file():
            raise _RefusedError(404, "there is no such page")
        self._send(200, _TYPES[file.suffix], file.read_bytes())

    def _enter(self, token: str) -> None:
        """Give the cookie for the token, and an address without it."""
        if not self._has_session() and not self.server.redeemed(token):
            raise _RefusedError(403, "the address was used before; end `hati probe edit` and start it again")
        cookie = f"{self.server.cookie}={self.server.session}; HttpOnly; SameSite=Strict; Path=/"
        self._send(303, "text/plain", b"", {"Location": "/", "Set-Cookie": cookie})

    def _has_session(self) -> bool:
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.cookie)
        except CookieError:
            return False
        return found is not None and secrets.compare_digest(found.value.encode(), self.server.session.encode())

    def _check_session(self) -> None:
        if not self._has_session():
            raise _RefusedError(403, "open the address that `hati probe edit` prints")

    def _post(self) -> None:
        if self.headers.get_all("Origin", []) != [f"http://127.0.0.1:{self.server.port}"]:
            raise _RefusedError(403, "the request comes from another page")
        self._check_session()
        if self.headers.get("Content-Type") != "application/json":
            raise _RefusedError(415, "the request is not JSON")
        action = self.server.actions.get(self.path)
        if action is None:
            raise _RefusedError(404, "there is no such action")
        self._act(action, self._body())

    def _act(self, action: Callable[[bytes], EditorState], body: bytes) -> None:
        try:
            with self.server.lock:
                found: EditorState | EditProblem = action(body)
            status = 200
        except HatiError as error:
            found, status = EditProblem(error.message, error.fix or "", (), str(error.place or "")), 409
        except msgspec.MsgspecError as error:
            raise _RefusedError(400, str(error)) from None
        self._send(status, "application/json", msgspec.json.encode(found, enc_hook=str))

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > _MOST_BYTES:
            raise _RefusedError(413, f"the request has no length, or more than {_MOST_BYTES} bytes")
        return self.rfile.read(int(length))

    def _send(self, status: int, kind: str, body: bytes, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
