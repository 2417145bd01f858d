"""Jobs that try to leave the sandbox, to stay, or to take more than the machine's owner permits."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from pathlib import Path

import psutil
import pytest
from joining import Joining
from volunteer_server import job

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]


def ran(joining: Joining, script: str, *words: str, program: str = "sh", **about: object) -> str:
    """What a job printed in the sandbox."""
    joining.script.batch({"program": script}, [job("t")], command=[program, "program"], **about)
    status, said = joining.join(*words)
    assert (status, joining.script.tasks) == (0, ["t"]), said
    assert joining.script.results[0]["outcome"] == "completed", joining.script.results[0]["detail"]
    return joining.script.stdout()


def ended(joining: Joining, script: str, *words: str, program: str = "sh", **about: object) -> str:
    """The reason with which a job that exceeded a limit is given back: it is not the subject's failure."""
    joining.script.batch({"program": script}, [job("t")], command=[program, "program"], **about)
    status, said = joining.join(*words)
    [end] = joining.script.ends
    assert (status, joining.script.results, end["outcome"]) == (0, [], "failed"), said
    assert end["reason"] in said
    return end["reason"]


def processes(word: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if word in " ".join(process.cmdline()) and "pytest" not in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_it_is_declared(joining: Joining) -> None:
    assert ran(joining, "echo done") == "done\n"
    assert joining.script.machines[0]["sandbox"] == "bubblewrap"


def test_a_job_reaches_no_socket_of_the_machine(joining: Joining) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        script = f"""
import socket
for host in ("127.0.0.1", "192.0.2.1", "1.1.1.1"):
    try:
        socket.create_connection((host, {port}), 0.5)
        print("reached", host)
    except OSError as error:
        print("refused")
own = socket.create_server(("127.0.0.1", 0))
socket.create_connection(own.getsockname())
print("its own loopback works")
"""
        assert ran(joining, script, program="python3") == "refused\n" * 3 + "its own loopback works\n"
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_job_sees_nothing_of_the_owner(joining: Joining) -> None:
    secret = joining.folder / "secret"
    secret.write_text("private")
    os.environ["HATI_TEST_SECRET"] = "private"
    prefix = os.path.realpath(sys.base_prefix)
    try:
        script = f"""
cat {secret} {joining.folder}/home/*/machine.json /etc/shadow /proc/1/environ /proc/1/fd/0 2>/dev/null | wc -c
ls {joining.folder} 2>&1 | grep -c secret
find /home /root /var /srv /mnt /run /sys /work -type f -not -path '{prefix}/*' 2>/dev/null | wc -l
env | grep -c HATI
ps ax 2>/dev/null | grep -c '[p]ytest'
id -u
cat /proc/self/status | grep CapEff
"""
        *hidden, _, capabilities = ran(joining, script).splitlines()
    finally:
        del os.environ["HATI_TEST_SECRET"]
    assert hidden == ["0"] * 5
    assert capabilities.split()[1] == "0" * 16


def test_a_job_writes_nothing_but_its_own_files(joining: Joining) -> None:
    script = """
for place in / /usr /etc /dev /proc /tree /opt; do
    (touch $place/evil) 2>/dev/null && echo wrote $place
done
touch $HOME/file /tmp/file /dev/shm/file && echo own
"""
    assert ran(joining, script) == "own\n"
    assert not list((joining.folder / "home").rglob("evil"))


def test_a_job_cannot_end_what_watches_it(joining: Joining) -> None:
    script = "kill -9 1 2>/dev/null; kill -9 -1 2>/dev/null; echo alive; (kill -STOP 1) 2>/dev/null; echo still"
    joining.script.batch({"program": script}, [job("t")], command=["sh", "program"])
    status, said = joining.join()
    assert (status, joining.script.tasks) == (0, ["t"]), said


def test_a_job_cannot_make_a_sandbox_of_its_own(joining: Joining) -> None:
    assert ran(joining, "unshare -Ur true 2>/dev/null || echo refused") == "refused\n"


def test_what_a_job_leaves_behind_ends_with_it(joining: Joining) -> None:
    script = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3, 64):
            try: os.close(number)
            except OSError: pass
        os.execvp("sleep", ["sleep", "7654"])
    os._exit(0)
time.sleep(0.3)
print("left")
"""
    assert ran(joining, script, program="python3") == "left\n"
    assert not processes("sleep 7654")


def test_the_same_without_a_sandbox(joining: Joining) -> None:
    script = "setsid sh -c 'exec sleep 7655' > /dev/null 2>&1 & sleep 0.3; echo left"
    assert ran(joining, script, "--without-sandbox") == "left\n"
    assert not processes("sleep 7655")


def test_a_timeout_ends_the_whole_tree(joining: Joining) -> None:
    joining.script.batch(
        {"program": "trap '' TERM; setsid sleep 7656 & setsid sleep 7656"},
        [job("t")],
        command=["sh", "program"],
        timeout=0.5,
    )
    began = time.monotonic()
    status, said = joining.join()
    [result] = joining.script.results
    assert (status, result["outcome"]) == (0, "timeout"), said
    assert time.monotonic() - began < 60.0
    assert not processes("sleep 7656")


def test_a_job_that_fills_the_disk_is_ended(joining: Joining) -> None:
    before = shutil.disk_usage(joining.folder).free
    for script in (
        "cat /dev/zero > $HOME/file",
        "while :; do head -c 1000000 /dev/zero > $HOME/$((i=i+1)) || exit 1; done",
    ):
        joining.script.ends.clear()
        assert ended(joining, script, "--disk", "20M") == "not run here: more than 20 MiB of files"
    assert abs(shutil.disk_usage(joining.folder).free - before) < 200 << 20


def test_so_is_a_build_that_does(joining: Joining) -> None:
    build = [["sh", "-c", "while :; do head -c 1000000 /dev/zero > $((i=i+1)) || exit 1; done"]]
    assert ended(joining, "", "--disk", "20M", build=build) == "not run here: more than 20 MiB of files"
    assert not list((joining.folder / "home").rglob("tree"))


def test_a_job_that_eats_memory_is_ended(joining: Joining) -> None:
    script = "kept = []\nwhile True: kept.append(bytearray(1 << 20))"
    assert ended(joining, script, "--memory", "200M", program="python3") == "not run here: more than 200 MiB of memory"


def test_so_are_many_processes_that_do_together(joining: Joining) -> None:
    script = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = bytearray(b"x" * (50 << 20))
        time.sleep(9)
time.sleep(9)
"""
    assert ended(joining, script, "--memory", "200M", program="python3") == "not run here: more than 200 MiB of memory"


def test_a_fork_bomb_is_ended(joining: Joining) -> None:
    script = "import os, time\nfor _ in range(7): os.fork()\ntime.sleep(9)"
    assert ended(joining, script, "--processes", "50", program="python3") == "not run here: more than 50 processes"


def test_a_job_that_computes_too_long_is_ended(joining: Joining) -> None:
    script = "while True: pass"
    assert ended(joining, script, "--cpu", "1s", program="python3") == "not run here: more than 1 s of CPU time"


def test_a_job_that_prints_without_end_is_ended(joining: Joining) -> None:
    joining.script.batch({}, [job("t")], command=["yes"])
    joining.join()
    [result] = joining.script.results
    assert (result["outcome"], result["detail"]) == ("failed", "the command printed more than 16 MiB and was killed")


def test_a_machine_without_a_sandbox_is_refused(joining: Joining, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(joining.folder))
    status, said = joining.join()
    assert (status, joining.script.machines) == (4, []), said
    assert "bubblewrap is not installed; apt-get install bubblewrap, or say `--without-sandbox`" in said
    (joining.folder / "bwrap").write_text("#!/bin/sh\necho 'bwrap: no permission' >&2; exit 1")
    (joining.folder / "bwrap").chmod(0o755)
    status, said = joining.join()
    assert (status, "the sandbox cannot be started: bwrap: no permission" in said) == (4, True), said


def test_builds_and_runs_of_a_real_program(joining: Joining, tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("there is no compiler")
    source = '#include <stdio.h>\nint main(void) { printf("%d\\n", LEVEL * 2); return 0; }\n'
    bindings = [{"option": "level", "argument": "-DLEVEL={}", "env": None, "build": True, "setup": []}]
    jobs = [job("t1"), job("t2", settings={"level": "2"})]
    build = [["gcc", "-o", "main", "main.c"]]
    joining.script.batch({"main.c": source}, jobs, build=build, command=["./main"], bindings=bindings)
    status, said = joining.join()
    assert (status, joining.script.tasks) == (0, ["t1", "t2"]), said
    assert [joining.script.stdout(number) for number in range(2)] == ["2\n", "4\n"]
