"""SIGKILL of the client at each of its steps, and a restart: nothing runs twice at once, and no result is lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from joining import Joining
from volunteer_server import Script, job

from hati.volunteer.files import write_json

pytestmark = pytest.mark.acceptance

SPANS = "date +%s.%N >> {spans}; sleep 0.3; date +%s.%N >> {spans}; echo done"


def waited(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def asked(script: Script, path: str) -> int:
    return sum(each.startswith(path) for each, *_ in script.requests)


STEPS: dict[str, Callable[[Joining], object]] = {
    "registering": lambda joining: asked(joining.script, "/v1/register"),
    "claiming": lambda joining: asked(joining.script, "/v1/claim"),
    "downloading": lambda joining: asked(joining.script, "/v1/artefacts"),
    "building": lambda joining: (joining.folder / "building").exists(),
    "running": lambda joining: (joining.folder / "spans").exists(),
    "having run": lambda joining: list((joining.folder / "home").rglob("spool/0*")),
    "delivering": lambda joining: asked(joining.script, "/v1/result"),
    "running the next": lambda joining: len(joining.script.results) == 1,
}


@pytest.mark.parametrize("step", STEPS)
def test_a_client_that_is_killed_goes_on(joining: Joining, step: str) -> None:
    spans = joining.folder / "spans"
    joining.script.batch(
        {"a": ""},
        [job("t1"), job("t2")],
        build=[["sh", "-c", f"touch {joining.folder}/building; sleep 0.2"]],
        command=["sh", "-c", SPANS.format(spans=spans)],
    )
    if step in {"having run", "delivering"}:
        joining.script.drop["/v1/result"] = 1
    client = joining.start("--once", "--without-sandbox")
    waited(lambda: STEPS[step](joining))
    client.kill()
    client.communicate()
    status, said = joining.join("--without-sandbox")
    assert status == 0, said
    assert set(joining.script.tasks) == {"t1", "t2"}
    assert len(joining.script.claims) == 1, "the same lease was continued"
    assert joining.script.ends == []
    assert not list((joining.folder / "home").rglob("spool/*"))
    assert not list((joining.folder / "home").rglob("run"))
    times = [float(line) for line in spans.read_text().split()]
    assert times == sorted(times)


def test_the_sandbox_of_a_killed_client_ends(joining: Joining) -> None:
    joining.script.batch({"a": ""}, [job("t")], command=["sh", "-c", "setsid sleep 8765 & sleep 8765"])

    def sleeping() -> list[int]:
        return [each.pid for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ["sleep", "8765"]]

    client = joining.start("--once")
    waited(lambda: len(sleeping()) == 2)
    client.kill()
    client.communicate()
    waited(lambda: not sleeping())


def test_the_machine_stays_locked_until_the_last_process_has_ended(joining: Joining) -> None:
    joining.script.batch({"a": ""}, [job("t")], command=["sh", "-c", f"touch {joining.folder}/spans; sleep 60"])
    client = joining.start("--once", "--without-sandbox")
    waited((joining.folder / "spans").exists)
    [runner] = psutil.Process(client.pid).children()
    os.kill(runner.pid, signal.SIGSTOP)
    client.kill()
    client.communicate()
    second = joining.start("--once", "--without-sandbox", "--name", "b", home="b")
    time.sleep(1.5)  # what it must not do, it would have done by then
    assert second.poll() is None, "it waits for the stopped processes of the first"
    os.kill(runner.pid, signal.SIGCONT)
    _, said = second.communicate(timeout=30)
    assert "waiting for another hati that measures on this machine" in said


def test_a_task_that_ends_the_client_is_given_up(joining: Joining) -> None:
    joining.script.batch({"a": ""}, [job("t")], command=["sh", "-c", f"touch {joining.folder}/spans; sleep 60"])
    for _ in range(2):
        client = joining.start("--once", "--without-sandbox")
        waited((joining.folder / "spans").exists)
        client.kill()
        client.communicate()
        (joining.folder / "spans").unlink()
    status, said = joining.join("--without-sandbox")
    [end] = joining.script.ends
    assert (status, end["outcome"]) == (0, "failed"), said
    assert end["reason"] == "not run here: the client was ended 2 times during task t"


def test_a_full_disk_loses_no_result(joining: Joining, monkeypatch: pytest.MonkeyPatch) -> None:
    from hati.volunteer import spool

    def full(path: Path, value: object) -> None:
        if path.name != "claim.json":
            raise OSError(28, "No space left on device")
        write_json(path, value)

    joining.script.batch({"a": ""}, [job("t")], command=["echo", "done"])
    monkeypatch.setattr(spool, "write_json", full)
    status, said = joining.join("--without-sandbox")
    assert (status, joining.script.tasks, joining.script.ends) == (0, ["t"], []), said
