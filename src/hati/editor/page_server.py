"""The server of the page: for one person, on the loopback interface.

The address has a token as its fragment, which browsers do not send; the page sends it in the header ``Authorization``.
Requests whose ``Host`` or ``Origin`` is another's are refused: a web page elsewhere may resolve its own name to this
machine (DNS rebinding), or send forms here.
"""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from hati.core import HatiError, decode
from hati.editor.edited_file import EditedFile, EditorState, EditProblem
from hati.generate import TaskSet
from hati.generate.editing import Edit
from hati.generate.tasks import TaskAttributes
from hati.render import json_schema

_PAGE = Path(__file__).parent / "page"
_TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript"}
_JSON = "application/json"
_MOST_BYTES = 1 << 20
_LENGTH = re.compile(r"[0-9]{1,7}")
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


class _Answer(NamedTuple):
    kind: str
    body: bytes
    status: int = 200


class PageServer(ThreadingHTTPServer):
    """Serves the page of a file on a free port of the loopback interface; ``address`` is where a browser opens it."""

    daemon_threads = True

    def __init__(self, edited: EditedFile, schema: Mapping[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = Lock()
        self.port = int(self.server_address[1])
        token = secrets.token_urlsafe(24)
        self.address = f"http://127.0.0.1:{self.port}/#{token}"
        self.authorization = f"Bearer {token}"
        files = [file for file in _PAGE.iterdir() if file.suffix in _TYPES]
        self.page = {f"/{file.name}": _Answer(_TYPES[file.suffix], file.read_bytes()) for file in files}
        self.schema = _Answer(_JSON, msgspec.json.encode(schema))
        self.actions: dict[str, Callable[[bytes], EditorState]] = {
            "/state": lambda _: edited.state(),
            "/edit": lambda body: edited.edit(decode(body, list[Edit])),
            "/undo": lambda _: edited.undo(),
            "/redo": lambda _: edited.redo(),
            "/reload": lambda _: edited.reload(),
            "/save": lambda _: edited.save(),
        }

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, other than that the browser went away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "hati"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """A part of the page, or the schema."""
        self._answered(self._get)

    def do_POST(self) -> None:
        """An action on the file."""
        self._answered(self._post)

    def log_message(self, *_: Any) -> None:
        """Nothing: the terminal is for what concerns the file."""

    def _answered(self, answer: Callable[[], _Answer]) -> None:
        try:
            self._check_host()
            self._send(answer())
        except _RefusedError as error:
            self._refuse(error.status, str(error))
        except OSError:  # of the connection
            raise
        except Exception as error:  # noqa: BLE001 - the page shows every fault
            self._refuse(500, f"a fault in Hati: {type(error).__name__}: {error}; report it with the file and the edit")

    def _check_host(self) -> None:
        if self.headers.get_all("Host", []) != [f"127.0.0.1:{self.server.port}"]:
            raise _RefusedError(421, "the request is for another host")

    def _check_token(self) -> None:
        given = self.headers.get("Authorization", "")
        if not secrets.compare_digest(given.encode(), self.server.authorization.encode()):
            raise _RefusedError(403, "this is not the address that `hati probe edit` printed; open that one")

    def _get(self) -> _Answer:
        if self.path == "/schema":
            self._check_token()
            return self.server.schema
        found = self.server.page.get("/index.html" if self.path == "/" else self.path)
        if found is None:
            raise _RefusedError(404, "there is no such page")
        return found

    def _post(self) -> _Answer:
        if self.headers.get_all("Origin", []) != [f"http://127.0.0.1:{self.server.port}"]:
            raise _RefusedError(403, "the request comes from another page")
        self._check_token()
        if self.headers.get("Content-Type") != _JSON:
            raise _RefusedError(415, "the request is not JSON")
        action = self.server.actions.get(self.path)
        if action is None:
            raise _RefusedError(404, "there is no such action")
        return self._acted(action, self._body())

    def _acted(self, action: Callable[[bytes], EditorState], body: bytes) -> _Answer:
        try:
            with self.server.lock:
                found: EditorState | EditProblem = action(body)
            status = 200
        except HatiError as error:
            found, status = EditProblem(error.message, error.fix or "", (), str(error.place or "")), 409
        except msgspec.MsgspecError as error:
            raise _RefusedError(400, str(error)) from None
        except RecursionError:
            raise _RefusedError(400, "the value is nested too deeply") from None
        return _Answer(_JSON, msgspec.json.encode(found, enc_hook=str), status)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not _LENGTH.fullmatch(length) or int(length) > _MOST_BYTES:
            raise _RefusedError(413, f"the request has no length, or more than {_MOST_BYTES} bytes")
        return self.rfile.read(int(length))

    def _refuse(self, status: int, reason: str) -> None:
        """Say why, and end the connection: what it sends further is not read."""
        self._send(_Answer("text/plain; charset=utf-8", f"{reason}\n".encode(), status), {"Connection": "close"})

    def _send(self, answer: _Answer, more: Mapping[str, str] = MappingProxyType({})) -> None:
        own = {"Content-Type": answer.kind, "Content-Length": str(len(answer.body))}
        self.send_response(answer.status)
        for name, value in {**_HEADERS, **own, **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)


def editor_schema(kinds: Mapping[str, type[Struct]]) -> dict[str, Any]:
    """The JSON Schema by which the page shows attributes; ``kinds`` are added ones, by the words that follow ``do``."""
    schema: dict[str, Any] = decode(json_schema(TaskSet), dict[str, Any])
    definitions = schema["$defs"]
    common = {key: definitions["UseTask"]["properties"][key] for key in TaskAttributes.__struct_fields__}
    for word, kind in kinds.items():
        own = decode(json_schema(kind), dict[str, Any])
        definition = own["$defs"].pop(own["$ref"].rpartition("/")[2])
        definitions.update({name: each for name, each in own["$defs"].items() if name not in definitions})
        definitions[f"do {word}"] = {
            **definition,
            "properties": {"do": {"enum": [word]}, **definition["properties"], **common},
            "required": ["do", *definition.get("required", ())],
        }
        _add_kind(schema, word)
    return schema


def _add_kind(part: Any, word: str) -> None:
    """Add a kind wherever a task may stand."""
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _add_kind(each, word)
    if isinstance(part, dict) and part.get("discriminator", {}).get("propertyName") == "do":
        part["discriminator"]["mapping"][word] = f"#/$defs/do {word}"
        part["anyOf"].append({"$ref": f"#/$defs/do {word}"})
