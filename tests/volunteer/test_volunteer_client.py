"""The client against a real HTTPS server: claim, check, run, return."""

from __future__ import annotations

from joining import Joining
from volunteer_server import job


def test_a_batch_is_run_and_its_results_are_returned(joining: Joining) -> None:
    joining.script.batch(
        {"greeting.txt": "hello"},
        [job("t1"), job("t2", settings={"level": "2"})],
        command=["sh", "-c", "cat greeting.txt; echo $0 $1", "{level}", "{size}"],
    )
    status, said = joining.join("--without-sandbox")
    assert (status, joining.script.tasks) == (0, ["t1", "t2"]), said
    assert joining.script.stdout(1) == "hello2 10\n"
