"""What the server refuses: each time by a 4xx with a reason and a fix, and nothing is recorded."""

from __future__ import annotations

import base64
import gzip
import hashlib
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from volunteers import INVITATION, PRINTED, Served, Volunteer, describe, hati, release, result

from hati.store import EntryKind, read_store

MIB = 2**20


@pytest.fixture
def http(served: Served) -> Iterator[httpx.Client]:
    """A client of the server."""
    with served.http() as found:
        yield found


_known: dict[str, str] = {}


@pytest.fixture
def one(http: httpx.Client) -> Volunteer:
    """A registered machine."""
    return _registered(http, "eve")


@pytest.fixture
def other(http: httpx.Client) -> Volunteer:
    """Another registered machine."""
    return _registered(http, "bob")


def _registered(http: httpx.Client, name: str) -> Volunteer:
    found = Volunteer(http, name, _known.get(f"{name}{http.base_url}", ""))
    _known[f"{name}{http.base_url}"] = found.token
    return found


@pytest.fixture
def lease(served: Served, one: Volunteer) -> Iterator[dict[str, Any]]:
    """A batch of two tasks that is leased to the first machine."""
    release(served.project, served.store, 1, each=2)
    found = one.claim().json()["lease"]
    yield found
    one.post("end", {"batch": found["batch"], "attempt": found["attempt"], "outcome": "returned", "reason": "over"})


def refused(answer: httpx.Response, status: int) -> dict[str, str]:
    """The reason and the fix of a refusal."""
    assert answer.status_code == status, answer.text
    said: dict[str, str] = answer.json()
    assert set(said) == {"error", "fix"}
    assert all(said.values())
    return said


def task_of(lease: dict[str, Any], place: int = 0) -> str:
    found: str = lease["envelope"]["jobs"][place]["task"]
    return found


def accepted(store: Path) -> list[str]:
    """The tasks with an accepted result."""
    with closing(read_store(str(store))) as kept:
        return [e.content["run"]["task"] for e in kept.ledger.history() if e.what is EntryKind.ACCEPTED]


@pytest.mark.parametrize(
    "token", ["-", "forged", "x" * 10_000, "é", hashlib.sha256(b"guess").hexdigest()], ids=range(5)
)
def test_a_token_that_was_never_given_is_refused(http: httpx.Client, token: str) -> None:
    headers = {"Hati-Protocol": "1", "Authorization": f"Bearer {token}".encode("latin-1")}
    for verb in ("claim", "renew", "result", "end"):
        refused(http.post(f"/v1/{verb}", content=b"{}", headers=headers), 401)
    refused(http.get(f"/v1/artefacts/{'0' * 64}", headers=headers), 401)


def test_the_stored_hash_of_a_token_is_no_token(served: Served, one: Volunteer, http: httpx.Client) -> None:
    assert one.token.encode() not in served.store.read_bytes()
    thief = Volunteer(http, "eve", hashlib.sha256(one.token.encode()).hexdigest())
    refused(thief.claim(), 401)


def test_a_revoked_token_ends_at_once(served: Served, http: httpx.Client) -> None:
    mallory = Volunteer(http, "mallory")
    release(served.project, served.store, 1)
    lease = mallory.claim().json()["lease"]
    message = result(lease, task_of(lease), PRINTED)
    place = ["--project", str(served.project), "--store", str(served.store)]
    assert hati("grid", "revoke", "mallory", *place).returncode == 0
    refused(mallory.post("result", message), 401)
    refused(mallory.claim(), 401)
    assert task_of(lease) not in accepted(served.store)
    unknown = hati("grid", "revoke", "malory", *place)
    assert (unknown.returncode, "'mallory'" in unknown.stderr) == (2, True)
    back = Volunteer(http, "mallory")  # with the invitation, and another token
    assert back.token != mallory.token
    refused(mallory.claim(), 401)
    assert hati("grid", "revoke", "mallory", *place).returncode == 0


def test_a_revoked_token_is_forgotten_also_where_its_body_is_wrong(served: Served, http: httpx.Client) -> None:
    """A request that is looked into is found to have an unknown encoding: 415; one that is not cannot be: 401."""
    trudy = Volunteer(http, "trudy")
    refused(trudy.post("renew", {}), 422)  # the server knows its token now
    place = ["--project", str(served.project), "--store", str(served.store)]
    assert hati("grid", "revoke", "trudy", *place).returncode == 0
    packed = {**trudy.headers, "Content-Encoding": "br"}
    refused(http.post("/v1/renew", content=b"x", headers=packed), 415)
    refused(http.post("/v1/renew", content=b"x", headers=packed), 401)


def test_no_body_of_a_revoked_token_is_decompressed(served: Served, http: httpx.Client) -> None:
    """One that is decompressed is found to be no gzip: 400."""
    walter = Volunteer(http, "walter")
    refused(walter.post("renew", {}), 422)
    packed = {**walter.headers, "Content-Encoding": "gzip"}
    refused(http.post("/v1/renew", content=b"no gzip", headers=packed), 400)
    place = ["--project", str(served.project), "--store", str(served.store)]
    assert hati("grid", "revoke", "walter", *place).returncode == 0
    refused(http.post("/v1/renew", content=b"no gzip", headers=packed), 401)


def test_a_revoked_token_sends_no_result(served: Served, http: httpx.Client) -> None:
    trent = Volunteer(http, "trent")
    refused(trent.post("renew", {}), 422)
    place = ["--project", str(served.project), "--store", str(served.store)]
    assert hati("grid", "revoke", "trent", *place).returncode == 0
    packed = {**trent.headers, "Content-Encoding": "gzip"}
    refused(http.post("/v1/result", content=b"no gzip", headers=packed), 401)


def test_registration_needs_the_invitation_and_a_free_name(http: httpx.Client, one: Volunteer) -> None:
    for invitation in ("", "guess", INVITATION.upper()):
        refused(one.post("register", {**describe("new"), "invitation": invitation}), 403)
    refused(one.post("register", {**describe("eve"), "invitation": INVITATION}), 409)
    for name in ("", "../up", "a b", "x" * 65, "<script>", "näme"):
        refused(one.post("register", {**describe(name), "invitation": INVITATION}), 422)


def test_a_registration_whose_answer_was_lost_is_repeated(served: Served, http: httpx.Client) -> None:
    asker, token = Volunteer(http, "unused", "none"), secrets.token_urlsafe(32)
    message = {**describe("again"), "invitation": INVITATION, "token": token}
    first, second = asker.post("register", message), asker.post("register", message)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert first.json()["token"] == token
    refused(asker.post("register", {**message, "token": secrets.token_urlsafe(32)}), 409)
    refused(asker.post("register", {**message, "name": "another"}), 409)
    refused(asker.post("register", {**message, "token": "short"}), 422)
    with closing(read_store(str(served.store))) as store:
        [kept] = [each for each in store.volunteers.all() if each.name == "again"]
    assert token not in repr(kept)


def test_a_volunteer_is_never_taken_for_a_machine_of_the_owner(served: Served, http: httpx.Client) -> None:
    release(served.project, served.store, 0)  # the owner's machine begins a study
    with closing(read_store(str(served.store))) as store:
        ours = next(each for each in store.machines() if "class" not in dict(each.properties))
    about = {**describe("impostor"), "properties": {**dict(ours.properties), "class": "owner", "name": ours.name}}
    done = Volunteer(http, "impostor", "x").post("register", {**about, "invitation": INVITATION})
    assert done.status_code == 201, done.text
    with closing(read_store(str(served.store))) as store:
        (theirs,) = [each for each in store.machines() if each.id == done.json()["machine"]]
        assert dict(theirs.properties)["class"] == "volunteer"
        assert theirs.name == "impostor"
        merged = ours.with_states_of(store.machines())
    assert theirs.fingerprint not in merged.fingerprints


def test_another_machines_lease_is_refused(served: Served, other: Volunteer, lease: dict[str, Any]) -> None:
    about = {"batch": lease["batch"], "attempt": lease["attempt"]}
    refused(other.post("renew", about), 403)
    refused(other.post("result", result(lease, task_of(lease), PRINTED)), 403)
    refused(other.post("end", {**about, "outcome": "failed", "reason": "sabotage"}), 403)
    assert task_of(lease) not in accepted(served.store)


def test_a_name_of_another_machine_is_refused(one: Volunteer) -> None:
    message = {"key": secrets.token_hex(8), "client": describe("bob")}
    refused(one.post("claim", message), 403)


def test_a_result_of_another_task_or_attempt_is_refused(served: Served, one: Volunteer, lease: dict[str, Any]) -> None:
    foreign = release(served.project, served.store, 1)[0]
    refused(one.post("result", result(lease, foreign, PRINTED)), 404)
    refused(one.post("result", result({**lease, "attempt": 99}, task_of(lease), PRINTED)), 410)
    refused(one.post("result", result({**lease, "batch": 2**52}, task_of(lease), PRINTED)), 410)
    assert foreign not in accepted(served.store)


def test_a_result_counts_once_however_often_it_is_sent(served: Served, one: Volunteer, lease: dict[str, Any]) -> None:
    message = result(lease, task_of(lease), PRINTED)
    for _ in range(3):
        assert one.post("result", message).json() == {"accepted": "accepted"}
    other = result(lease, task_of(lease), PRINTED.replace(b"0.01", b"0.5"))
    assert one.post("result", other).json() == {"accepted": "duplicate"}
    assert accepted(served.store).count(task_of(lease)) == 1


def test_a_result_after_the_lease_is_kept_aside(served: Served, one: Volunteer, lease: dict[str, Any]) -> None:
    about = {"batch": lease["batch"], "attempt": lease["attempt"]}
    assert one.post("renew", about).json()["state"] == "leased"
    assert one.post("end", {**about, "outcome": "returned"}).status_code == 200
    assert one.post("result", result(lease, task_of(lease), PRINTED)).json() == {"accepted": "late"}
    refused(one.post("renew", about), 409)
    refused(one.post("end", {**about, "outcome": "returned"}), 409)
    assert task_of(lease) not in accepted(served.store)


def test_a_claim_is_repeated_and_a_machine_has_one_batch(served: Served, one: Volunteer) -> None:
    release(served.project, served.store, 2)
    first = one.claim("same-key-1").json()["lease"]
    again = one.claim("same-key-1").json()["lease"]
    assert {**first, "envelope": 0} == {**again, "envelope": 0}
    assert one.claim("another-key").status_code == 204
    done = one.post("result", result(first, task_of(first), PRINTED))
    assert done.json() == {"accepted": "accepted"}


def test_another_machines_claim_is_not_repeated(served: Served, one: Volunteer, other: Volunteer) -> None:
    release(served.project, served.store, 2)
    mine, theirs = (each.claim("overheard-key").json()["lease"] for each in (one, other))
    assert mine["batch"] != theirs["batch"]
    assert (mine["envelope"]["audience"], theirs["envelope"]["audience"]) == (machine_of(one), machine_of(other))
    for machine, found in ((one, mine), (other, theirs)):
        assert machine.post("result", result(found, task_of(found), PRINTED)).json() == {"accepted": "accepted"}


def machine_of(volunteer: Volunteer) -> str:
    """The identity of a machine, from its next registration, which is answered as the first one was."""
    message = {**describe(volunteer.name), "invitation": INVITATION, "token": volunteer.token}
    found: str = volunteer.post("register", message).json()["machine"]
    return found


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nowhere", 404),
        ("GET", "/v1/claim", 405),
        ("DELETE", "/v1/result", 405),
        ("GET", "/v1/artefacts", 404),
    ],
)
def test_what_is_not_there_is_refused(one: Volunteer, method: str, path: str, status: int) -> None:
    refused(one.http.request(method, path, headers=one.headers), status)


@pytest.mark.parametrize("version", [None, "", "0", "2", "1.0"])
def test_another_version_of_the_protocol_is_refused(one: Volunteer, version: str | None) -> None:
    headers = {"Authorization": f"Bearer {one.token}"} | ({} if version is None else {"Hati-Protocol": version})
    for verb in ("register", "claim", "renew", "result", "end"):
        answer = one.http.post(f"/v1/{verb}", content=b"{}", headers=headers)
        assert "client" in refused(answer, 426)["fix"]
    refused(one.http.get("/v1/key", headers=headers), 426)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"null", 422),
        (b"[]", 422),
        (b'{"batch": 1}', 422),
        (b'{"batch": 1e400, "attempt": 1}', 422),
        (b'{"batch": 99999999999999999999999, "attempt": 1}', 422),
        (b'{"batch": -1, "attempt": 1}', 422),
        (b'{"x": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", 400),
    ],
    ids=range(10),
)
def test_a_malformed_body_is_refused(one: Volunteer, body: bytes, status: int) -> None:
    answer = one.http.post("/v1/renew", content=body, headers=one.headers)
    refused(answer, status)


def test_oversize_bodies_and_gzip_bombs_are_refused(one: Volunteer) -> None:
    large = b"x" * (64 * 1024 + 1)
    refused(one.http.post("/v1/renew", content=large, headers=one.headers), 413)
    refused(one.http.post("/v1/renew", content=iter([large]), headers=one.headers), 413)  # no Content-Length
    packed = {**one.headers, "Content-Encoding": "gzip"}
    bomb = gzip.compress(bytes(200 * MIB))
    assert len(bomb) < MIB
    refused(one.http.post("/v1/result", content=bomb, headers=packed), 413)
    refused(one.http.post("/v1/renew", content=gzip.compress(large), headers=packed), 413)
    for broken in (b"no gzip", gzip.compress(b"{}")[:-4], gzip.compress(b"{}") + b"more"):
        refused(one.http.post("/v1/renew", content=broken, headers=packed), 400)
    refused(one.http.post("/v1/renew", content=b"{}", headers={**one.headers, "Content-Encoding": "br"}), 415)


def test_nobody_elses_body_is_read(served: Served) -> None:
    """A machine without a token is refused before it has sent its 40 MiB."""
    import ssl

    context = ssl.create_default_context(cafile=str(served.certificate))
    address = ("127.0.0.1", int(served.port))
    with context.wrap_socket(socket.create_connection(address, 10), server_hostname="127.0.0.1") as plain:
        head = f"POST /v1/result HTTP/1.1\r\nHost: x\r\nHati-Protocol: 1\r\nContent-Length: {40 * MIB}\r\n\r\n"
        plain.sendall(head.encode())
        assert b" 401 " in plain.recv(4096)


def test_a_result_must_agree_with_itself(served: Served, one: Volunteer, lease: dict[str, Any]) -> None:
    task, good = task_of(lease), base64.b64encode(PRINTED).decode()
    wrong: list[dict[str, Any]] = [
        {"digest": "0" * 64},
        {"stdout": good[:-2]},
        {"stdout": "no base64!"},
        {"status": 1},
        {"status": None},
        {"usage": None},
        {"seconds": -1.0},
        {"began": -1.0},
        {"outcome": "done"},
        {"task": "../../x"},
        {"usage": {"wall": 1}},
    ]
    for changes in wrong:
        refused(one.post("result", {**result(lease, task, PRINTED), **changes}), 422)
    assert task not in accepted(served.store)


def test_output_without_the_metric_is_a_failed_run(served: Served, one: Volunteer, lease: dict[str, Any]) -> None:
    assert one.post("result", result(lease, task_of(lease), b"nothing\x00\x1b[31m")).json() == {"accepted": "accepted"}
    with closing(read_store(str(served.store))) as store:
        (found,) = store.ledger.results([task_of(lease)]).values()
    assert found["outcome"] == "unreadable"
    assert found["observations"] == []


def test_a_wrong_clock_does_not_date_runs(served: Served, one: Volunteer, lease: dict[str, Any]) -> None:
    late = result(lease, task_of(lease), PRINTED, began=4e9)
    assert one.post("result", late).json() == {"accepted": "accepted"}
    with closing(read_store(str(served.store))) as store:
        (found,) = store.ledger.results([task_of(lease)]).values()
    assert str(found["started"]) < "2090"


@pytest.mark.parametrize(
    "name", ["..", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "../../../etc/passwd", "0" * 63, "g" * 64, "A" * 64, "%00" * 64]
)
def test_artefacts_are_named_by_their_digest_only(one: Volunteer, name: str) -> None:
    answer = one.http.get(httpx.URL(str(one.http.base_url) + f"/v1/artefacts/{name}"), headers=one.headers)
    refused(answer, 404)
    assert b"root:" not in answer.content


def test_an_artefact_is_resumed_where_its_download_broke_off(one: Volunteer, lease: dict[str, Any]) -> None:
    about = lease["envelope"]["artefact"]
    path, size = f"/v1/artefacts/{about['sha256']}", about["bytes"]
    whole = one.http.get(path, headers=one.headers)
    assert (whole.status_code, len(whole.content)) == (200, size)
    assert hashlib.sha256(whole.content).hexdigest() == about["sha256"]
    for text, first, end in [("0-0", 0, 1), ("10-", 10, size), ("-5", size - 5, size), (f"5-{size * 9}", 5, size)]:
        part = one.http.get(path, headers={**one.headers, "Range": f"bytes={text}"})
        assert part.status_code == 206, text
        assert part.content == whole.content[first:end]
        assert part.headers["content-range"] == f"bytes {first}-{end - 1}/{size}"
    for text in (
        f"bytes={size}-",
        "bytes=5-2",
        "bytes=-",
        "bytes=-0",
        "lines=0-1",
        "bytes=0-1,3-4",
        "bytes=" + "9" * 30,
    ):
        refused(one.http.get(path, headers={**one.headers, "Range": text}), 416)


def flooded(ask: Callable[[], httpx.Response], usual: int) -> httpx.Response:
    """The first answer with another status: on a slow machine more requests are granted before it."""
    for _ in range(1000):
        answer = ask()
        if answer.status_code != usual:
            return answer
    raise AssertionError("1000 requests were accepted")


def test_a_flood_is_slowed_down(served: Served) -> None:
    """More registrations from an address than people make are answered with 429 and a time to wait."""
    with closing(Served(served.project, served.store)) as own, own.http() as http:
        headers = {"Hati-Protocol": "1"}
        slowed = flooded(lambda: http.post("/v1/register", content=b"{}", headers=headers), 422)
        assert int(slowed.headers["retry-after"]) >= 1
        refused(slowed, 429)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/key",
        *(pytest.param(path, marks=pytest.mark.acceptance) for path in ("/v1/client.pyz", "/openapi.json", "/")),
    ],
)
def test_public_files_are_limited_too(served: Served, path: str) -> None:
    with closing(Served(served.project, served.store)) as own, own.http() as http:
        slowed = flooded(lambda: http.get(path, headers={"Hati-Protocol": "1"}), 200)
        assert slowed.status_code == 429
        assert int(slowed.headers["retry-after"]) >= 1
        assert Volunteer(http, f"reader-{secrets.token_hex(4)}").machine, "registrations are counted apart"


def test_the_page_gives_a_code_that_registers_one_machine_once(http: httpx.Client) -> None:
    form = http.get("/").text
    assert 'name="invitation"' in form
    assert http.post("/", data={"name": "desk", "invitation": "guess"}).status_code == 403
    assert http.post("/", data={"name": "<b>", "invitation": INVITATION}).status_code == 422
    shown = http.post("/", data={"name": "desk", "invitation": INVITATION}).text
    code = shown.split("--invitation ")[1].split("<")[0].strip()
    asker = Volunteer(http, "x", "x")
    refused(asker.post("register", {**describe("another"), "invitation": code}), 403)
    assert asker.post("register", {**describe("desk"), "invitation": code}).status_code == 201
    refused(asker.post("register", {**describe("desk2"), "invitation": code}), 403)


def test_no_secret_is_in_the_log(served: Served, one: Volunteer) -> None:
    with closing(Served(served.project, served.store)) as own, own.http() as http:
        own_token = Volunteer(http, "logged")
        own_token.claim()
        own_token.post("renew", {"batch": 1, "attempt": 1})
        http.post("/v1/claim", content=b"{", headers={**own_token.headers, "Authorization": "Bearer secret-guess"})
    for secret in (own_token.token, INVITATION, "secret-guess"):
        assert secret not in own.said
    assert own.said
