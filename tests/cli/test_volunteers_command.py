"""Keys, signatures and the server of volunteers, as people use them: mostly what is refused, and how it is fixed."""

from __future__ import annotations

import base64
import json
import stat
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from conftest import Hati
from hati.store import read_store


@pytest.fixture
def key(hati_here: Hati, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The owner's key."""
    file = tmp_path_factory.mktemp("owner") / "key"
    assert hati_here("grid", "key", "--out", str(file)).status == 0
    return file


def test_a_key_is_private_and_never_replaced(hati_here: Hati, key: Path) -> None:
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    public = key.with_name("key.pub").read_text().strip()
    assert len(base64.b64decode(public, validate=True)) == 32
    before = key.read_bytes()
    again = hati_here("grid", "key", "--out", str(key))
    assert (again.status, key.read_bytes()) == (2, before)
    assert "exists" in again.err


def test_what_is_signed_is_all_that_can_be_run(hati_here: Hati, fake_project: Path, key: Path) -> None:
    done = hati_here("grid", "sign", "--key", str(key))
    assert done.status == 0, done.err
    assert "signed: benchmark main at" in done.err
    with closing(read_store(str(fake_project / ".hati" / "store.sqlite"))) as store:
        (release,) = store.volunteers.releases().values()
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key.with_name("key.pub").read_text()))
    public.verify(base64.b64decode(release.signature), release.statement.encode())
    said = json.loads(release.statement)
    assert said["settings"] == {name: ["off", "on"] for name in "abcdef"}
    assert said["values"] == {"revision": [release.revision]}
    assert said["command"][1:] == ["-S", "subject.py", "repetition={repetition}"]
    assert said["artefact"] == release.artefact
    assert json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False) == release.statement


def test_signing_again_makes_the_same_statement(hati_here: Hati, fake_project: Path, key: Path) -> None:
    place = fake_project / ".hati" / "store.sqlite"
    found = []
    for _ in range(2):
        assert hati_here("grid", "sign", "--key", str(key)).status == 0
        with closing(read_store(str(place))) as store:
            found.append({each.statement for each in store.volunteers.releases().values()})
    assert found[0] == found[1]


@pytest.mark.parametrize("words", [("run",), ("screen", "--metric", "latency"), ("failures",)], ids=lambda w: w[0])
def test_a_campaign_without_a_signature_says_how_to_sign(
    hati_here: Hati, fake_project: Path, words: tuple[str, ...]
) -> None:
    done = hati_here(*words, "--engine", "volunteers", "--budget", "16")
    assert done.status == 2, done.err
    assert "hati grid sign --key FILE" in done.err


def test_a_changed_file_needs_a_new_signature(hati_here: Hati, fake_project: Path, key: Path) -> None:
    assert hati_here("grid", "sign", "--key", str(key)).status == 0
    (fake_project / "subject.py").write_text("print('changed')")
    done = hati_here("run", "--engine", "volunteers", "--budget", "2")
    assert done.status == 2
    assert "has no signed release of revision" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("check",),
        ("audit",),
        ("bisect", "HEAD~1", "HEAD"),
        ("validate",),
        ("compare", "main", "main"),
        ("assert", "--formula", "A < B"),
    ],
    ids=lambda words: words[0],
)
def test_volunteers_decide_no_verdict(hati_here: Hati, fake_project: Path, words: tuple[str, ...]) -> None:
    done = hati_here(*words, "--engine", "volunteers")
    assert done.status == 2, done.out
    assert "volunteers' numbers never do" in done.err


def test_only_volunteers_have_to_agree(hati_here: Hati, fake_project: Path) -> None:
    done = hati_here("run", "--budget", "2", "--replicate", "2")
    assert (done.status, "add --engine volunteers" in done.err) == (2, True), done.err
    assert "--replicate" not in hati_here("check", "--help").out
    for words in (("--priority", "1"), ("--due", "2h")):
        done = hati_here("run", "--budget", "2", *words)
        assert (done.status, "add --engine workers" in done.err) == (2, True), done.err
    file = fake_project / "hati.toml"
    file.write_text(file.read_text().replace("[subject]\n", "[subject]\nreplicate = 0\n"))
    done = hati_here("run", "--budget", "2")
    assert (done.status, "hati.toml:" in done.err, "below 1" in done.err) == (2, True, True), done.err


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("cpus = [0]", "pinned to CPUs"),
        ('server = { command = ["sleep", "9"], ready = { line = "up" } }', "has a server"),
        ('user = "nobody"', "another user"),
        ('reset = { command = ["true"] }', "resets the system"),
        ('env = { TOKEN = "{env:SECRET}" }', "a variable of the environment"),
    ],
)
def test_what_volunteers_cannot_run_is_not_signed(
    hati_here: Hati, fake_project: Path, key: Path, line: str, why: str
) -> None:
    file = fake_project / "hati.toml"
    file.write_text(file.read_text().replace("warmup = 1\n", f"warmup = 1\n{line}\n"))
    for words in (("grid", "sign", "--key", str(key)), ("run", "--engine", "volunteers", "--budget", "2")):
        done = hati_here(*words)
        assert done.status == 2, done.out
        assert why in done.err


def test_a_file_that_is_no_key_is_refused(hati_here: Hati, fake_project: Path) -> None:
    for file in (fake_project / "hati.toml", fake_project / "nothing"):
        done = hati_here("grid", "sign", "--key", str(file))
        assert (done.status, "hati grid key --out FILE" in done.err) == (2, True), done.err


def test_https_is_required_where_others_reach_the_server(hati_here: Hati, fake_project: Path) -> None:
    for words, fix in [
        (("--host", "0.0.0.0"), "--certificate FILE"),
        (("--host", "bench.example.org"), "--certificate FILE"),
        (("--certificate", "x.pem"), "give both"),
        (("--certificate", "x.pem", "--key", "y.pem"), "PEM files"),
        (("--open", "--invitation", "x"), "leave out one"),
    ]:
        done = hati_here("serve", "--volunteers", *words)
        assert (done.status, fix in done.err) == (2, True), done.err
    assert hati_here("serve").status == 2


def test_a_certificate_that_is_none_is_refused(hati_here: Hati, fake_project: Path) -> None:
    file = fake_project / "hati.toml"
    done = hati_here("serve", "--volunteers", "--certificate", str(file), "--key", str(file))
    assert (done.status, "the certificate cannot be used" in done.err) == (2, True), done.err


def test_machines_are_listed_and_revoked(hati_here: Hati, fake_project: Path) -> None:
    assert hati_here("grid", "volunteers").status == 2, "there is no store yet"
    assert hati_here("run", "--budget", "1").status == 0
    assert "No volunteer has registered" in hati_here("grid", "volunteers").out
    with closing(read_store(str(fake_project / ".hati" / "store.sqlite"))) as store:
        store.volunteers.register("desk", "m1", "secret", {"cpus": 4, "os": "Linux", "sandbox": "bubblewrap"})
    assert "bubblewrap" in hati_here("grid", "volunteers").out
    assert "is revoked" in hati_here("grid", "revoke", "desk").err
    assert "was revoked before" in hati_here("grid", "revoke", "desk").err
    assert hati_here("grid", "revoke", "dusk").status == 2
