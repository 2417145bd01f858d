"""The client against a real HTTPS server: claim, check, run, return; what is refused, and what is tried again."""

from __future__ import annotations

import base64
import hashlib
import itertools
import stat
import subprocess
import time
from pathlib import Path

import pytest
from joining import Joining
from volunteer_server import Owner, Script, archive, job, serving

from hati.volunteer.command import main
from hati.volunteer.files import locked

pytestmark = pytest.mark.acceptance

FREE = "--without-sandbox"
HELLO = {"greeting.txt": "hello\n"}


def test_a_batch_is_run_and_its_results_are_returned(joining: Joining) -> None:
    joining.script.batch(
        HELLO,
        [job("t1"), job("t2", settings={"level": "2"})],
        command=["sh", "-c", "cat greeting.txt; echo $0 $1", "{level}", "{size}"],
    )
    status, said = joining.join(FREE, "--name", "kilo")
    assert (status, joining.script.tasks, joining.script.ends) == (0, ["t1", "t2"], []), said
    assert joining.script.stdout(1) == "hello\n2 10\n"
    first = joining.script.results[0]
    assert (first["outcome"], first["status"], first["detail"]) == ("completed", 0, "")
    assert first["digest"] == hashlib.sha256(b"hello\n1 10\n").hexdigest()
    assert 0.0 < first["usage"]["wall"] <= first["seconds"] < 10.0
    assert {"user", "system", "peak", "voluntary", "involuntary", "load"} < first["usage"].keys()
    machine = joining.script.machines[0]
    assert (machine["name"], machine["sandbox"]) == ("kilo", "none (declared by owner)")
    assert machine["template"] == {"memory": 2 << 30, "disk": 1 << 30, "processes": 256}
    assert "2 runs, 2 delivered" in said
    assert "secret" not in said
    [token] = (joining.folder / "home").rglob("machine.json")
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert stat.S_IMODE(token.parent.stat().st_mode) == 0o700


def test_all_steps_of_a_benchmark(joining: Joining) -> None:
    script = "cat built.txt $0 $1; sh tool.sh $3 $4; echo $A $B > {work}/out"
    joining.script.batch(
        {"sub/tool.sh": "echo tool $1 $2", "other.txt": ""},
        [job("t", files=[{"path": "conf/{size}.ini", "text": "from a file\n"}])],
        within="sub",
        build=[["sh", "-c", "test -f ../other.txt; echo built > built.txt"]],
        prepare=[["sh", "-c", "echo prepared > {work}/log"]],
        setup=[["sh", "-c", "echo setup >> {work}/log"]],
        command=["sh", "-c", script, "{work}/log", "{work}/conf/{size}.ini", "{{}}"],
        cleanup=[["sh", "-c", "test -f {work}/out"]],
        env=[["A", "{size}-{env:LANG}"]],
        files=["conf/{size}.ini"],
        output="{work}/out",
        bindings=[
            {"option": "level", "argument": "-l {}", "env": "B", "build": False, "setup": [["sh", "-c", "exit 0"]]}
        ],
    )
    status, said = joining.join()
    [result] = joining.script.results
    assert (status, result["outcome"], result["detail"]) == (0, "completed", ""), said
    assert joining.script.stdout() == "built\nprepared\nsetup\nfrom a file\ntool -l 1\n"
    assert base64.b64decode(result["output"]) == b"10-C.UTF-8 1\n"


def test_files_that_the_server_writes_are_for_a_sandbox(joining: Joining) -> None:
    files = [{"path": "a.ini", "text": "x"}]
    joining.script.batch({"a": ""}, [job("t", files=files)], command=["cat", "{work}/a.ini"], files=["a.ini"])
    status, said = joining.join(FREE)
    assert (status, joining.script.results) == (0, []), said
    assert "used in a sandbox only" in said


def test_a_build_is_made_once_for_its_settings(joining: Joining) -> None:
    count = joining.folder / "builds"
    bindings = [{"option": "level", "argument": "{}", "env": "LEVEL", "build": True, "setup": []}]
    about = {
        "build": [["sh", "-c", f"echo $0 $LEVEL | tee -a {count} > made"]],
        "command": ["cat", "made"],
        "bindings": bindings,
    }
    for number in range(2):
        joining.script.batch(HELLO, [job(f"a{number}"), job(f"b{number}", settings={"level": "2"})], **about)
    status, said = joining.join(FREE)
    assert (status, len(joining.script.results)) == (0, 4), said
    assert count.read_text() == "1 1\n2 2\n"
    assert [joining.script.stdout(number) for number in range(4)] == ["1 1\n", "2 2\n"] * 2


@pytest.mark.parametrize(
    ("about", "outcome", "detail"),
    [
        ({"command": ["sh", "-c", "echo no >&2; exit 3"]}, "failed", "the command ended with exit status 3: no"),
        ({"command": ["nowhere"]}, "failed", "the command: cannot start 'nowhere': No such file or directory"),
        ({"command": ["sleep", "9"], "timeout": 0.2}, "timeout", "the command did not end within 0.2 s and was killed"),
        ({"prepare": [["false"]]}, "not_started", "`prepare` ended with exit status 1"),
        ({"build": [["sh", "-c", "echo a; exit 1"]]}, "not_built", "the build ended with exit status 1: a"),
        ({"command": ["sh", "-c", "kill -9 $$"]}, "failed", "the command ended with signal 9"),
    ],
)
def test_a_failure_of_the_subject_is_a_result(joining: Joining, about: dict, outcome: str, detail: str) -> None:
    joining.script.batch(HELLO, [job("t")], **about)
    status, said = joining.join(FREE)
    [result] = joining.script.results
    assert (status, result["outcome"], result["detail"]) == (0, outcome, detail), said


def refused(joining: Joining, *words: str) -> str:
    """The reason with which a batch is given back; nothing of it has run."""
    status, said = joining.join(FREE, *words)
    [end] = joining.script.ends
    assert (status, joining.script.results, end["outcome"]) == (0, [], "failed"), said
    assert [line for line in said.splitlines() if end["reason"] in line], "it is said here too"
    assert not list((joining.folder / "home").rglob("tree"))
    return end["reason"]


def test_a_tampered_artefact_is_not_unpacked(joining: Joining) -> None:
    envelope = joining.script.batch(HELLO, [job("t")])
    evil = archive({"greeting.txt": "evils\n"})
    joining.script.artefacts[envelope["artefact"]["sha256"]] = evil
    envelope["artefact"]["bytes"] = len(evil)
    assert refused(joining) == "refused: the artefact has not the signed digest"


def test_neither_is_one_that_is_longer_than_the_envelope_says(joining: Joining) -> None:
    joining.script.batch(HELLO, [job("t")])["artefact"]["bytes"] = 10
    assert refused(joining) == "refused: the server sends more bytes than the envelope says"


def test_nor_one_that_is_larger_than_the_owner_permits(joining: Joining) -> None:
    joining.script.batch(HELLO, [job("t")])["artefact"]["bytes"] = 3 << 30
    assert "the owner of the machine keeps 1024 MiB" in refused(joining, "--keep", "1G")


def test_a_path_that_leads_out_of_an_artefact_is_refused(joining: Joining) -> None:
    joining.script.batch({"../evil": "x"}, [job("t")])
    assert "leads out of its folder" in refused(joining)


def test_a_tampered_statement_is_refused(joining: Joining) -> None:
    release = joining.script.batch(HELLO, [job("t")])["release"]
    release["statement"] = release["statement"].replace('"true"', '"evil"')
    assert refused(joining) == "refused: the release is not signed with the key that this machine trusts"


def test_so_is_what_another_than_the_trusted_key_signed(joining: Joining) -> None:
    joining.script.batch(HELLO, [job("t")])
    assert "is not signed" in refused(joining, "--key", Owner().public)


def test_the_key_of_the_first_time_stays(joining: Joining) -> None:
    _, said = joining.join(FREE)
    assert f"trusting the key {joining.script.owner.public} on first use" in said
    joining.script.owner = Owner()
    joining.script.batch(HELLO, [job("t")])
    assert "is not signed" in refused(joining)
    status, said = joining.join(FREE, "--key", joining.script.owner.public)
    assert (status, "`--key` is not the key that" in said) == (4, True), said


def test_settings_that_the_owner_excludes_are_returned(joining: Joining) -> None:
    joining.script.batch(HELLO, [job("t")])
    status, said = joining.join(FREE, "--only", "level=2")
    [end] = joining.script.ends
    assert (status, end["outcome"], joining.script.results) == (0, "returned", []), said
    assert end["reason"] == "the machine's owner permits level = 2 only"
    assert joining.script.machines[0]["template"]["settings"] == {"level": ["2"]}


@pytest.mark.parametrize("path", ["/v1/claim", "/v1/result"])
def test_a_server_that_asks_to_come_back_is_obeyed(joining: Joining, path: str) -> None:
    joining.script.batch(HELLO, [job("t")])
    joining.script.answers += [(path, status, {"Retry-After": "2"}, {"error": "busy"}) for status in (429, 503)]
    status, said = joining.join(FREE)
    assert (status, joining.script.tasks) == (0, ["t"]), said
    assert "asks to come back later: busy" in said or path == "/v1/result"
    times = [when for asked, _, when in joining.script.requests if asked == path]
    assert max(later - before for before, later in itertools.pairwise(times)) >= 2.0


def test_a_server_that_is_away_is_named(joining: Joining) -> None:
    joining.script.answers.append(("/v1/register", 503, {"Retry-After": "1"}, {"error": "busy"}))
    status, said = joining.join(FREE)
    assert (status, "busy; join again later" in said) == (4, True), said


@pytest.mark.parametrize("path", ["/v1/claim", "/v1/result"])
def test_a_reply_that_is_lost_after_commit_changes_nothing(joining: Joining, path: str) -> None:
    count = joining.folder / "runs"
    joining.script.batch(HELLO, [job("t1"), job("t2")], command=["sh", "-c", f"echo run >> {count}"])
    joining.script.drop[path] = 2
    status, said = joining.join(FREE)
    assert (status, set(joining.script.tasks)) == (0, {"t1", "t2"}), said
    assert (count.read_text(), len(joining.script.claims), joining.script.ends) == ("run\n" * 2, 1, [])


def test_a_download_goes_on_where_it_broke_off(joining: Joining) -> None:
    files = {"noise": "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(4000))}
    joining.script.batch(files, [job("t")])
    joining.script.batch(files, [job("t")])
    joining.script.cut = 50_000
    status, said = joining.join(FREE)
    assert (status, joining.script.tasks) == (0, ["t"]), said
    ranges = [headers.get("Range") for path, headers, _ in joining.script.requests if "artefacts" in path]
    assert ranges == [None, "bytes=50000-"]


def test_results_are_kept_while_the_server_is_away(tmp_path: Path, certificates: tuple[Path, Path]) -> None:
    script = Script()
    script.batch(HELLO, [job("t1"), job("t2")], command=["sleep", "1"])
    with serving(script, certificates) as url:
        joining = Joining(url, script, certificates[0], tmp_path)
        client = joining.start("--once", FREE)
        while not [path for path, *_ in script.requests if "artefacts" in path]:
            time.sleep(0.01)
    _, said = client.communicate(timeout=60)
    assert (client.returncode, script.results) == (4, []), said
    assert "2 results kept to be sent later" in said
    with serving(script, certificates, port=int(url.rsplit(":", 1)[1])):
        status, said = joining.join(FREE)
    assert (status, script.tasks) == (0, ["t1", "t2"]), said
    assert "0 runs, 2 delivered" in said


@pytest.mark.parametrize(("code", "ended"), [(410, False), (413, True)])
def test_a_result_that_the_server_refuses_for_good_is_put_aside(joining: Joining, code: int, ended: bool) -> None:
    joining.script.batch(HELLO, [job("t")])
    joining.script.answers.append(("/v1/result", code, {}, {"error": "it is not wanted", "fix": "let it be"}))
    status, said = joining.join(FREE)
    assert "the server does not accept the result of task t: it is not wanted; let it be" in said
    assert (status, joining.script.results, len(list((joining.folder / "home").rglob("*.refused")))) == (0, [], 1)
    assert [end["outcome"] for end in joining.script.ends] == ["failed"] * ended


@pytest.mark.parametrize(
    ("code", "body", "message"),
    [
        (426, {"error": "protocol 1 is too old", "fix": "download the client again"}, "download the client again"),
        (401, {"error": "the token is revoked", "fix": ""}, "the token is revoked; to register again, remove"),
    ],
)
def test_a_client_that_is_refused_says_what_to_do(joining: Joining, code: int, body: dict, message: str) -> None:
    joining.script.answers.append(("/v1/claim", code, {}, body))
    status, said = joining.join(FREE)
    assert (status, message in said.splitlines()[-1]) == (4, True), said


def test_a_lost_lease_ends_the_run(joining: Joining) -> None:
    joining.script.seconds, joining.script.renewal = 0.6, (409, "")
    joining.script.batch(HELLO, [job("t1"), job("t2")], command=["sleep", "600"])
    began = time.monotonic()
    status, said = joining.join(FREE)
    assert (status, joining.script.results) == (0, []), said
    assert "its lease is lost" in said
    assert time.monotonic() - began < 60.0


def test_a_batch_that_is_withdrawn_ends_after_its_run(joining: Joining) -> None:
    joining.script.seconds, joining.script.renewal = 0.6, (200, "ending")
    joining.script.batch(HELLO, [job("t1"), job("t2")], command=["sleep", "0.6"])
    status, said = joining.join(FREE)
    assert (status, joining.script.tasks) == (0, ["t1"]), said
    assert [(end["outcome"], end["reason"]) for end in joining.script.ends] == [("returned", "withdrawn")]


def test_only_trusted_servers_are_joined(joining: Joining, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([joining.url, FREE, "--home", str(joining.folder / "home"), "--once"]) == 4
    said = capsys.readouterr().err
    assert "is not trusted" in said
    assert "`--ca FILE`" in said
    assert not joining.script.requests


def test_a_redirection_is_not_followed(joining: Joining) -> None:
    joining.script.answers.append(("/v1/register", 302, {"Location": "http://example.org/"}, {}))
    status, said = joining.join(FREE)
    assert (status, "leads to http://example.org/" in said) == (4, True), said


def test_a_second_client_does_not_work_in_the_same_folder(joining: Joining) -> None:
    joining.script.batch(HELLO, [job("t")], command=["sleep", "2"])
    first = joining.start("--once", FREE)
    while not joining.script.claims:
        time.sleep(0.01)
    status, said = joining.join(FREE)
    assert (status, "another client works for" in said) == (4, True), said
    first.communicate(timeout=30)
    assert joining.script.tasks == ["t"]


def test_what_a_killed_client_has_forked_lets_go_of_the_lock(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", None) as first, locked(tmp_path / "lock", None) as second:
        assert (first is None, second is None) == (False, True)
    holding = ["flock", tmp_path / "lock", "sh", "-c", "echo locked; sleep 0.2"]
    forked = subprocess.Popen(holding, stdout=subprocess.PIPE)
    assert forked.stdout is not None
    with forked:
        forked.stdout.readline()
        with locked(tmp_path / "lock", None) as lock:
            assert lock is not None


def test_two_clients_on_a_machine_do_not_overlap(joining: Joining) -> None:
    spans = joining.folder / "spans"
    command = ["sh", "-c", f"date +%s.%N >> {spans}; sleep 0.4; date +%s.%N >> {spans}"]
    for number in range(4):
        joining.script.batch(HELLO, [job(f"t{number}")], command=command)
    clients = [joining.start("--once", FREE, "--name", name, home=name) for name in ("a", "b")]
    for client in clients:
        _, said = client.communicate(timeout=60)
        assert client.returncode == 0, said
    assert sorted(joining.script.tasks) == [f"t{number}" for number in range(4)]
    times = [float(line) for line in spans.read_text().split()]
    assert times == sorted(times)
    assert len(times) == 8
    assert all(later - before >= 0.4 for before, later in zip(times[::2], times[1::2], strict=True))


def test_the_registered_name_stays(joining: Joining) -> None:
    joining.join(FREE, "--name", "kilo")
    status, said = joining.join(FREE, "--name", "lima")
    assert (status, "this machine is registered as kilo, not as lima" in said) == (2, True), said
    assert len(joining.script.machines) == 1


def test_what_a_stopped_client_has_is_returned(joining: Joining) -> None:
    joining.script.batch(HELLO, [job("t")], command=["sleep", "30"])
    client = joining.start("--once", FREE)
    while not [path for path, *_ in joining.script.requests if "artefacts" in path]:
        time.sleep(0.01)
    time.sleep(0.3)  # in the middle of the download
    client.terminate()
    _, said = client.communicate(timeout=30)
    assert (client.returncode, "ended on request" in said) == (0, True), said
    assert [end["outcome"] for end in joining.script.ends] == ["returned"]


def test_the_messages_of_a_bad_command_line(tmp_path: Path) -> None:
    for words in (
        ["http://example.org"],
        ["ftp://x"],
        ["https://x", "--hours", "25-6"],
        ["https://x", "--memory", "x"],
    ):
        assert main([*words, FREE, "--home", str(tmp_path)]) == 2
    assert main(["https://127.0.0.1:1", FREE, "--home", str(tmp_path), "--key", "short"]) == 2
    assert main(["https://127.0.0.1:1", FREE, "--home", str(tmp_path)]) == 4
