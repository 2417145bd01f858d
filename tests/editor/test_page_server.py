"""The server of the editor's page from outside: who is answered, and with what."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from hati.editor import EditedFile, EditorState, PageServer, editor_schema, page_server
from hati.generate import CodeLoad, parse_task_set

TEXT = """\
name: a   # kept
machines: [here]
roles:
  - {name: r, machine: here, task: {do: cpu, kernel: spin, demand_ms: 1}}
"""
DEMAND = ["roles", 0, "task", "demand_ms"]


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: str


class Client:
    """Sends requests with the headers of the page, which each may change."""

    def __init__(self, server: PageServer) -> None:
        self.server = server
        self.own = f"127.0.0.1:{server.port}"
        self.authorization = f"Bearer {server.address.partition('#')[2]}"

    def ask(self, method: str, path: str, body: Any = None, **changed: str | None) -> Answer:
        headers: dict[str, str | None] = {"Host": self.own, "Authorization": self.authorization}
        if method == "POST":
            headers |= {"Origin": f"http://{self.own}", "Content-Type": "application/json"}
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        sent = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        for name, value in {"Content-Length": str(len(sent)), **headers}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(sent)
        with closing(connection), connection.getresponse() as answer:
            return Answer(answer.status, answer.headers, answer.read().decode())

    def act(self, action: str, body: Any = None, status: int = 200) -> Any:
        answer = self.ask("POST", f"/{action}", body)
        assert answer.status == status, answer.body
        return json.loads(answer.body)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "a.yaml"
    made.write_text(TEXT)
    return made


@pytest.fixture
def client(file: Path) -> Iterator[Client]:
    with PageServer(EditedFile(file, parse_task_set), editor_schema({})) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Client(server)
        server.shutdown()
        thread.join()


def test_only_this_machine_reaches_it(client: Client) -> None:
    assert client.server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(("method", "path"), [("GET", "/schema"), ("POST", "/state"), ("POST", "/save")])
@pytest.mark.parametrize("authorization", [None, "", "Bearer ", "Bearer wrong", "Basic {token}", "{token}", "Bearer ü"])
def test_who_has_no_token_gets_nothing(client: Client, method: str, path: str, authorization: str | None) -> None:
    named = authorization and authorization.format(token=client.authorization.removeprefix("Bearer "))
    answer = client.ask(method, path, Authorization=named)
    assert answer.status == 403
    assert answer.body == "this is not the address that `hati probe edit` printed; open that one\n"


def test_a_cookie_is_neither_given_nor_asked_for(client: Client) -> None:
    answers = [client.ask("GET", path) for path in ("/", "/main.js", "/schema")] + [client.ask("POST", "/state")]
    assert [(answer.status, answer.headers["Set-Cookie"]) for answer in answers] == [(200, None)] * 4
    token = client.authorization.removeprefix("Bearer ")
    assert client.ask("GET", f"/?token={token}", Authorization=None).status == 404


def test_what_is_served_without_the_token_is_the_same_for_every_file(client: Client) -> None:
    page = Path(page_server.__file__).parent / "page"
    for file in page.iterdir():
        assert client.ask("GET", f"/{file.name}", Authorization=None).body == file.read_text()


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", "[::1]:{port}", None]
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/save"), ("GET", "/schema")])
def test_a_name_that_resolves_here_is_refused(client: Client, method: str, path: str, host: str | None) -> None:
    named = None if host is None else host.format(port=client.server.port)
    assert client.ask(method, path, Host=named).status == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", None]
)
def test_another_page_cannot_act(client: Client, file: Path, origin: str | None) -> None:
    edit = [{"edit": "set", "path": DEMAND, "value": 2}]
    named = None if origin is None else origin.format(port=client.server.port)
    assert client.ask("POST", "/edit", edit, Origin=named).status == 403
    assert client.act("state")["text"] == TEXT


def test_a_form_cannot_act(client: Client) -> None:
    assert client.ask("POST", "/save", Content_Type="text/plain").status == 415


@pytest.mark.parametrize(
    "path",
    [
        "/../page_server.py",
        "/%2e%2e/page_server.py",
        "//etc/passwd",
        "/x.js",
        "/nothing",
        "/page",
        "http://[/",
        f"/{'x' * 5000}.js",
    ],
)
def test_only_the_page_is_served(client: Client, path: str) -> None:
    assert client.ask("GET", path).status == 404


@pytest.mark.parametrize("body", [b"", b"{", b"[]x", b'[{"edit": "burn", "path": []}]', b'[{"edit": "set"}]', b"\xff"])
def test_requests_that_are_no_edits(client: Client, body: bytes) -> None:
    assert client.ask("POST", "/edit", body).status == 400


def test_a_value_that_is_nested_too_deeply(client: Client) -> None:
    value = b"[" * 900 + b"]" * 900
    answer = client.ask("POST", "/edit", b'[{"edit": "set", "path": ["name"], "value": ' + value + b"}]")
    assert (answer.status, answer.body) == (400, "the value is nested too deeply\n")
    assert client.act("state")["text"] == TEXT


def test_a_fault_is_reported_to_the_page(client: Client, capfd: pytest.CaptureFixture[str]) -> None:
    def broken(_: bytes) -> EditorState:
        raise ZeroDivisionError("of a test")

    client.server.actions["/state"] = broken
    answer = client.ask("POST", "/state")
    assert answer.status == 500
    assert answer.body == "a fault in Hati: ZeroDivisionError: of a test; report it with the file and the edit\n"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("length", ["", "-1", "9999999999", "1" * 5000, "x", "²"])
def test_requests_without_a_length(client: Client, length: str) -> None:
    assert client.ask("POST", "/edit", b"", Content_Length=length).status == 413


def test_the_page_may_load_nothing_from_elsewhere(client: Client) -> None:
    answer = client.ask("GET", "/")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "://" not in answer.body


def test_an_edit_is_checked_undone_and_saved(client: Client, file: Path) -> None:
    wrong = client.act("edit", [{"edit": "set", "path": DEMAND, "value": -1}])
    assert wrong["problems"] == [
        {
            "message": "-1 ms is not a demand",
            "fix": "give 0.001 to 600,000 ms, which is 10 minutes",
            "path": DEMAND,
            "place": "a.yaml:4:71",
        }
    ]
    assert (wrong["changed"], wrong["undo"], wrong["redo"], wrong["selected"]) == (True, True, False, DEMAND)
    assert client.act("undo")["text"] == TEXT
    assert client.act("redo")["text"] == wrong["text"]
    fixed = client.act("edit", [{"edit": "set", "path": DEMAND, "value": 2.5}])
    assert fixed["problems"] == []
    assert client.act("save")["changed"] is False
    assert file.read_text() == TEXT.replace("demand_ms: 1", "demand_ms: 2.5")


def test_a_refused_edit_changes_nothing(client: Client) -> None:
    refused = client.act("edit", [{"edit": "remove", "path": DEMAND}, {"edit": "remove", "path": ["x"]}], 409)
    assert refused["message"] == "there is no place x"
    assert client.act("state")["text"] == TEXT


def test_a_change_on_disk_is_not_overwritten(client: Client, file: Path) -> None:
    client.act("edit", [{"edit": "set", "path": ["name"], "value": "mine"}])
    file.write_text("name: theirs\n")
    assert "has changed on disk" in client.act("save", status=409)["message"]
    assert file.read_text() == "name: theirs\n"
    assert client.act("reload")["values"] == {"name": "theirs"}
    assert client.act("undo")["values"]["name"] == "mine"
    client.act("save")
    assert file.read_text() == TEXT.replace("name: a ", "name: mine ")


class Pipe(msgspec.Struct):
    """Bytes through a pipe."""

    bytes: int
    blocking: bool = True

    def code(self) -> CodeLoad:
        return CodeLoad("")


def test_kinds_of_packages_are_in_the_schema() -> None:
    schema = editor_schema({"pipe": Pipe})
    made = schema["$defs"]["do pipe"]
    assert made["description"] == "Bytes through a pipe."
    assert list(made["properties"])[:3] == ["do", "bytes", "blocking"]
    assert "sensors" in made["properties"]
    assert made["required"] == ["do", "bytes"]
    places = [
        schema["$defs"]["TaskSet"]["properties"]["tasks"]["additionalProperties"],
        schema["$defs"]["Sequence"]["properties"]["tasks"]["items"],
        schema["$defs"]["Loop"]["properties"]["task"],
    ]
    assert [place["discriminator"]["mapping"]["pipe"] for place in places] == ["#/$defs/do pipe"] * 3
