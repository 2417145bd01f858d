"""The HTTP server of volunteers, and its OpenAPI document."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from functools import cache, partial
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs

import msgspec
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from hati.core import HatiError, decode
from hati.gateway.gateway import Gateway, Refusal
from hati.gateway.limits import Rate, RateLimiter, decompressed, read_body
from hati.gateway.messages import (
    LARGEST_BODY,
    LARGEST_RESULT,
    PROTOCOL,
    Accepted,
    AttemptReference,
    Claimed,
    ClaimMessage,
    End,
    Ended,
    Problem,
    PublicKey,
    Registered,
    Registration,
    Renewed,
    ResultMessage,
)

if TYPE_CHECKING:
    from hati.store import Volunteer


MACHINE_RATE = Rate(burst=100.0, per_second=50.0)
"""The requests of each machine."""
ADDRESS_RATE = Rate(burst=100.0, per_second=1.0)
"""The registrations, and the requests with an unknown token, of each address; and, apart, those of public files."""
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ARTEFACT = re.compile(r"[0-9a-f]{64}")
_VERSION = "1"

M = TypeVar("M")


class Door:
    """The endpoints of a gateway; ``client`` makes the client's program, which is served as a file."""

    def __init__(self, gateway: Gateway, client: Callable[[], bytes]) -> None:
        self._gateway, self._client = gateway, client
        self._machines, self._addresses = RateLimiter(MACHINE_RATE), RateLimiter(ADDRESS_RATE)
        self._readers = RateLimiter(ADDRESS_RATE)
        self._known = dict[str, str]()

    async def home(self, request: Request) -> Response:
        """Show how a machine is registered."""
        self._readers.admit(_address(request), time.monotonic())
        try:
            key = (await run_in_threadpool(self._gateway.public_keys)).key
        except Refusal:
            key = ""
        return HTMLResponse(_page(key))

    async def invite(self, request: Request) -> Response:
        """Give a person the command that registers a machine."""
        self._addresses.admit(_address(request), time.monotonic())
        form = parse_qs((await _body(request, LARGEST_BODY)).decode("utf-8", "replace"))
        name, invitation = (form.get(field, [""])[0].strip() for field in ("name", "invitation"))
        if not _NAME.fullmatch(name):
            raise Refusal(422, "the name is not valid", "use letters, digits, dots, dashes and underscores")
        code = await run_in_threadpool(self._gateway.invite, name, invitation)
        return HTMLResponse(_command_page(str(request.base_url).rstrip("/"), name, code))

    async def key(self, request: Request) -> Response:
        """The public keys of the owner."""
        _check_protocol(request)
        self._readers.admit(_address(request), time.monotonic())
        return _answer(await run_in_threadpool(self._gateway.public_keys))

    async def document(self, request: Request) -> Response:
        """The OpenAPI document."""
        self._readers.admit(_address(request), time.monotonic())
        return JSONResponse(request.app.openapi())

    async def program(self, request: Request) -> Response:
        """The client, as a file that Python runs."""
        self._readers.admit(_address(request), time.monotonic())
        found = await run_in_threadpool(self._client)
        return Response(found, media_type="application/zip")

    async def register(self, request: Request) -> Response:
        """Register a machine; the token in the answer is shown once."""
        _check_protocol(request)
        self._addresses.admit(_address(request), time.monotonic())
        message = _decoded(await _body(request, LARGEST_BODY), Registration)
        return _answer(await run_in_threadpool(self._gateway.register, message), 201)

    async def claim(self, request: Request) -> Response:
        """Ask for a batch; 204 where there is none for this machine."""

        def answer(volunteer: Volunteer, message: ClaimMessage) -> Response:
            found = self._gateway.claim(volunteer, message)
            if found is None:
                return Response(status_code=204, headers={"Retry-After": f"{self._gateway.retry_after(volunteer):.0f}"})
            return _answer(found)

        return await self._answered(request, ClaimMessage, answer)

    async def renew(self, request: Request) -> Response:
        """Extend a lease."""
        return await self._answered(request, AttemptReference, self._gateway.renew)

    async def result(self, request: Request) -> Response:
        """Send the raw result of a job; it is stored when the answer comes."""
        return await self._answered(request, ResultMessage, self._gateway.result, LARGEST_RESULT)

    async def end(self, request: Request) -> Response:
        """Give the rest of a batch back."""
        return await self._answered(request, End, self._gateway.end)

    async def artefact(self, request: Request) -> Response:
        """The archive of a revision's files, or a range of its bytes."""
        token = await self._admitted(request)
        name = request.path_params["sha256"]
        if not _ARTEFACT.fullmatch(name):
            raise Refusal(404, "there is no such artefact", "name it by its SHA-256, in 64 hexadecimal digits")
        await run_in_threadpool(self._holder, token)
        size = await run_in_threadpool(self._gateway.artefact_size, name)
        first, end = _range(request.headers.get("range", ""), size)
        whole = (first, end) == (0, size)
        headers = {"Accept-Ranges": "bytes", "ETag": f'"{name}"', "Content-Length": str(end - first)}
        if not whole:
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{size}"
        content = self._gateway.artefact(name, first, end)
        return StreamingResponse(content, 200 if whole else 206, headers, "application/gzip")

    async def _admitted(self, request: Request) -> str:
        """The token of a request that is counted; it was valid when it was last looked up.

        Raises:
            Refusal: where its protocol is another version, its token is not valid, or its machine asks too often.
        """
        _check_protocol(request)
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        token = given if scheme.lower() == "bearer" else ""
        machine = self._known.get(token)
        if machine is None:
            try:
                machine = (await run_in_threadpool(self._holder, token)).machine
            except Refusal:
                self._addresses.admit(_address(request), time.monotonic())
                raise
        self._machines.admit(machine, time.monotonic())
        return token

    def _holder(self, token: str) -> Volunteer:
        """The machine of a token.

        Raises:
            Refusal: where the token is not valid now.
        """
        try:
            volunteer = self._gateway.holder(token)
        except Refusal:
            self._known.pop(token, None)
            raise
        self._known[token] = volunteer.machine
        return volunteer

    async def _answered(
        self, request: Request, kind: type[M], answer: Callable[[Volunteer, M], object], most: int = LARGEST_BODY
    ) -> Response:
        """The answer to the machine that asks; nobody else's body is decompressed, nor read if it may be large."""
        token = await self._admitted(request)
        if most > LARGEST_BODY and not _is_small(request):
            await run_in_threadpool(self._holder, token)
        try:
            body = await _sent(request, most)
        except BaseException:  # a disconnection or a cancellation too
            self._known.pop(token, None)
            raise

        def answered() -> object:
            volunteer = self._holder(token)
            return answer(volunteer, _decoded(_content(request, body, most), kind))

        found = await run_in_threadpool(answered)
        return found if isinstance(found, Response) else _answer(found)


def make_app(gateway: Gateway, client: Callable[[], bytes]) -> FastAPI:
    """The application of a gateway; ``client`` makes the client's program."""
    door = Door(gateway, client)
    app = FastAPI(
        title="Hati for volunteers",
        version=_VERSION,
        description=(
            "Machines that only reach out run signed benchmarks. Each request has the header `Hati-Protocol: 1`; "
            "each refusal has an `error` and a `fix`."
        ),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    post, get = partial(_route, app, "POST"), partial(_route, app, "GET")
    get("/", door.home, None, {200: None}, page=True)
    post("/", door.invite, None, {200: None}, page=True)
    get("/v1/client.pyz", door.program, None, {200: None}, page=True)
    get("/v1/key", door.key, None, {200: PublicKey})
    post("/v1/register", door.register, Registration, {201: Registered})
    post("/v1/claim", door.claim, ClaimMessage, {200: Claimed, 204: None})
    post("/v1/renew", door.renew, AttemptReference, {200: Renewed})
    post("/v1/result", door.result, ResultMessage, {200: Accepted})
    post("/v1/end", door.end, End, {200: Ended})
    get("/v1/artefacts/{sha256}", door.artefact, None, {200: None, 206: None})
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(HatiError, _unavailable)
    app.add_exception_handler(HTTPException, _no_such_place)
    app.add_route("/openapi.json", door.document, include_in_schema=False)
    app.openapi = cache(partial(openapi_document, app))  # type: ignore[method-assign]  # as FastAPI documents it
    return app


_MESSAGES = (
    Accepted,
    AttemptReference,
    ClaimMessage,
    Claimed,
    End,
    Ended,
    Problem,
    PublicKey,
    Registered,
    Registration,
    Renewed,
    ResultMessage,
)
_COMPONENT = "#/components/schemas/{name}"


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the schemas of all messages."""
    from fastapi.openapi.utils import get_openapi

    found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    _, schemas = msgspec.json.schema_components(_MESSAGES, ref_template=_COMPONENT)
    found["components"] = {
        "schemas": schemas,
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    }
    return found


def _route(
    app: FastAPI,
    method: str,
    path: str,
    endpoint: Callable[..., Awaitable[Response]],
    body: type | None,
    answers: dict[int, type | None],
    *,
    page: bool = False,
) -> None:
    """Add an endpoint, and describe it: messages are read by msgspec, and not by FastAPI."""
    known = {status: _described(kind, page=page) for status, kind in answers.items()}
    known[next(iter(answers))].setdefault("headers", {})
    about: dict[str, Any] = {"responses": {**{str(k): v for k, v in known.items()}, "4XX": _described(Problem)}}
    if body is not None:
        content = {"application/json": {"schema": {"$ref": _COMPONENT.format(name=body.__name__)}}}
        about["requestBody"] = {"required": True, "content": content}
    if not page:
        schema = {"type": "string", "enum": [PROTOCOL]}
        about["parameters"] = [{"name": "Hati-Protocol", "in": "header", "required": True, "schema": schema}]
        if "{sha256}" in path:
            pattern = {"type": "string", "pattern": f"^{_ARTEFACT.pattern}$"}
            about["parameters"].append({"name": "sha256", "in": "path", "required": True, "schema": pattern})
    if path not in {"/", "/v1/client.pyz", "/v1/key", "/v1/register"}:
        about["security"] = [{"token": []}]
    app.add_api_route(path, endpoint, methods=[method], openapi_extra=about, response_class=Response)


def _described(kind: type | None, *, page: bool = False) -> dict[str, Any]:
    if kind is None:
        return {"description": "A page or a file." if page else "No content, or bytes."}
    schema = {"$ref": _COMPONENT.format(name=kind.__name__)}
    said = (kind.__doc__ or "").split("\n")[0]
    return {"description": said, "content": {"application/json": {"schema": schema}}}


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _check_protocol(request: Request) -> None:
    found = request.headers.get("hati-protocol", "")
    if found != PROTOCOL:
        shown = repr(found[:20]) if found else "none"
        raise Refusal(
            426,
            f"this server speaks version {PROTOCOL} of the protocol, and the request names {shown}",
            "get the client of this server: /v1/client.pyz",
        )


async def _body(request: Request, most: int) -> bytes:
    """The decompressed body."""
    return _content(request, await _sent(request, most), most)


async def _sent(request: Request, most: int) -> bytes:
    """The body as it was sent."""
    return await read_body(request.stream(), request.headers.get("content-length", ""), _encoding(request), most)


def _content(request: Request, body: bytes, most: int) -> bytes:
    return decompressed(body, most) if _encoding(request) == "gzip" else body


def _encoding(request: Request) -> str:
    return request.headers.get("content-encoding", "").strip().lower()


def _is_small(request: Request) -> bool:
    """Whether the body is at most as long as that of a claim, as the server then enforces."""
    length = request.headers.get("content-length", "")
    return length.isdigit() and int(length[:20]) <= LARGEST_BODY


def _decoded(body: bytes, kind: type[M]) -> M:
    try:
        return decode(body, kind)
    except msgspec.ValidationError as error:
        raise Refusal(422, f"the body is not valid: {error}", "see /openapi.json for its fields") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(400, f"the body is not JSON: {error}", "send a JSON object") from None


def _answer(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _range(text: str, size: int) -> tuple[int, int]:
    """The first byte and the end that a header Range asks for; everything without one.

    Raises:
        Refusal: where it is not a range of the artefact.
    """
    if not text:
        return 0, size
    found = _RANGE.fullmatch(text.strip())
    first, last = found.groups() if found else ("", "")
    if first:
        start, end = int(first), min(int(last) + 1, size) if last else size
    else:
        start, end = max(0, size - int(last or 0)), size
    if not found or start >= end:
        raise Refusal(416, f"the range is not one of the artefact's {size} bytes", "send Range: bytes=FIRST-")
    return start, end


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    headers = {} if error.retry is None else {"Retry-After": f"{max(1.0, error.retry):.0f}"}
    return JSONResponse({"error": error.error, "fix": error.fix}, error.status, headers)


async def _unavailable(_: Request, error: Exception) -> Response:
    """The store cannot be used for now: nothing was acknowledged."""
    assert isinstance(error, HatiError)
    content = {"error": error.message, "fix": "send it again later; the owner of the server has to see to the store"}
    return JSONResponse(content, 503, {"Retry-After": "10"})


async def _no_such_place(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    content = {"error": str(error.detail), "fix": "see /openapi.json for what there is"}
    return JSONResponse(content, error.status_code, error.headers)


_FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Hati: lend a machine</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:3em auto;padding:0 1em}}
input,button{{font:inherit;padding:.3em}} pre{{background:#8882;padding:1em;overflow-x:auto}}</style></head>
<body><h1>Lend a machine</h1>{body}</body></html>
"""
_FORM = """
<p>This server gives benchmarks to machines that ask for them. A machine needs Python 3.9 or newer. It runs only what
the owner signed, in a sandbox where the system has one, and its numbers are marked as a volunteer's.</p>
<form method="post" action="/">
<p><label>Name of the machine<br>
<input name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*" maxlength="64"></label></p>
<p><label>Invitation, from the owner<br><input name="invitation" type="password" autocomplete="off"></label></p>
<p><button>Get the command</button></p></form>
<p>Public key of the owner: <code>{key}</code></p>
"""
_COMMAND = """
<p>Run this on <b>{name}</b>, within an hour:</p>
<pre>curl -fsSo hati-join.pyz {url}/v1/client.pyz
python3 hati-join.pyz {url} --name {name} --invitation {code}</pre>
<p>The code registers this one machine, once. The owner can revoke its token at any time.</p>
"""


def _page(key: str) -> str:
    """The page with the form; ``key`` is the owner's public key, empty where nothing was signed."""
    return _FRAME.format(body=_FORM.format(key=escape(key) or "nothing is signed yet"))


def _command_page(url: str, name: str, code: str) -> str:
    """The page with the commands that register a machine by a one-time code."""
    return _FRAME.format(body=_COMMAND.format(url=escape(url), name=escape(name), code=escape(code)))
