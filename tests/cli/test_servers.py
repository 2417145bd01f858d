"""Servers from outside: the order of steps, servers that runs share, who programs run as, and what logs say."""

from __future__ import annotations

import os
import pwd
import re
import tempfile
from pathlib import Path

import pytest

from hati.cli import main
from hati.subject.folders import shared_work_root

Capture = pytest.CaptureFixture[str]

PROJECT = """\
[subject]
name = "s"

[[benchmark]]
name    = "b"
prepare = [["sh", "-c", "echo prepare >> $EVENTS"], ["touch", "{work}/prepared"]]
setup   = [["ls", "{work}/prepared"], ["sh", "-c", "echo setup >> $EVENTS"]]
command = ["sh", "-c", "echo command $(cat {file:server.conf}) >> $EVENTS; echo m: 1 $NAMED"]
cleanup = ["sh", "-c", "echo cleanup >> $EVENTS"]
reader  = "regex"
env     = { EVENTS = "{env:EVENTS_FILE}", NAMED = "{port}-{threads}" }

[benchmark.server]
command = ["sh", "-c", "echo server {threads} >> $EVENTS; echo up; exec sleep 60"]
ready   = { line = "up" }
reload  = ["sh", "-c", "echo reload >> $EVENTS"]

[[benchmark.metric]]
name    = "m"
unit    = "1"
pattern = "m: (.)"

[[benchmark.file]]
path     = "server.conf"
template = "server.conf.j2"

[options.threads]
settings = [1, 2]

[options.fast]
settings = [false, true]
reload   = [["sh", "-c", "echo fast={} >> $EVENTS"]]

[options.size]
settings = [10, 20]
reload   = true

[options.index]
settings = ["no", "yes"]
setup    = ["sh", "-c", "echo index={} >> $EVENTS"]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "hati.toml").write_text(PROJECT)
    (root / "server.conf.j2").write_text("size={{ size }}")
    (tmp_path / "events").touch(mode=0o666)
    (tmp_path / "events").chmod(0o666)
    monkeypatch.setenv("EVENTS_FILE", str(tmp_path / "events"))
    monkeypatch.chdir(root)
    return root


def change(project: Path, old: str, new: str) -> None:
    text = (project / "hati.toml").read_text()
    assert old in text
    (project / "hati.toml").write_text(text.replace(old, new))


def measure(*settings: str, budget: int | None = None, status: int = 0) -> None:
    chosen = [word for setting in settings for word in ("--set", setting)]
    assert main(["run", ".", "--budget", str(budget or len(settings)), *chosen]) == status


def events(project: Path) -> list[str]:
    return (project.parent / "events").read_text().splitlines()


def test_the_steps_have_an_order(project: Path) -> None:
    measure("fast=true,size=20")
    assert events(project) == [
        "prepare",
        "server 1",
        "fast=true",
        "reload",
        "setup",
        "index=no",
        "command size=20",
        "cleanup",
    ]


def test_runs_share_a_server_that_differ_in_reloadable_options(project: Path) -> None:
    measure("fast=false", "fast=true", "size=10", "size=20")
    found = events(project)
    assert (found.count("prepare"), found.count("server 1"), found.count("cleanup")) == (1, 1, 1)
    assert (found.count("setup"), found.count("reload")) == (4, 4)
    assert found[-1] == "cleanup"
    assert sorted(line for line in found if line.startswith("command")) == [
        "command size=10",
        "command size=10",
        "command size=20",
        "command size=20",
    ]
    assert [path.name for path in (project / ".hati/work").iterdir()] == ["CACHEDIR.TAG"]


@pytest.mark.parametrize("other", ["threads=2", "index=yes"])
def test_another_option_needs_a_server_of_its_own(project: Path, other: str) -> None:
    measure("threads=1", other)
    found = events(project)
    assert (found.count("prepare"), found.count("cleanup")) == (2, 2)
    assert [line for line in found if line.startswith("server")][-1] in {"server 1", "server 2"}


def test_repetitions_are_replicates_over_servers(project: Path) -> None:
    measure("fast=false", budget=3)
    assert events(project).count("server 1") == 3


def test_a_server_that_ended_between_runs_is_started_again(project: Path) -> None:
    change(project, "exec sleep 60", "exec sleep 0.1")
    change(project, 'setup   = [["ls', 'setup   = [["sleep", "0.02"], ["ls')
    measure("fast=false", "fast=true", "size=20", status=0)
    assert events(project).count("cleanup") == len([line for line in events(project) if line.startswith("server")])


def test_what_a_shared_server_starts_during_a_command_outlives_it(project: Path) -> None:
    child = "setsid sh -c 'sleep 0.3; echo child >> $EVENTS' & "
    change(project, "exec sleep 60", f"while ! [ -e {{work}}/go ]; do sleep 0.01; done; {child}exec sleep 60")
    change(project, "echo m: 1", "touch {work}/go; sleep 0.2; echo m: 1")
    change(project, "echo setup >>", "! [ -e {work}/go ] || sleep 1; echo setup >>")
    measure("fast=false", "fast=true")
    assert [line for line in events(project) if line in {"setup", "child"}] == ["setup", "child", "setup"]


def test_a_failing_setup_ends_the_run_with_its_reason(project: Path, capfd: Capture) -> None:
    change(project, '"echo setup >> $EVENTS"', '"echo cannot load >&2; exit 3"')
    measure("fast=false", status=4)
    assert "`setup` ended with exit status 3: cannot load" in capfd.readouterr().err
    assert events(project)[-1] == "cleanup"


class TestLogs:
    def test_the_line_that_says_why_is_shown_and_the_log_kept(self, project: Path, capfd: Capture) -> None:
        change(
            project,
            "echo up; exec sleep 60",
            "echo LOG: bad size; echo FATAL: no memory; echo HINT: try; echo LOG: down; exit 1",
        )
        measure("fast=false", status=4)
        said = capfd.readouterr().err
        assert "the server ended with exit status 1: LOG: bad size; FATAL: no memory (.hati/logs/" in said
        kept = re.search(r"\.hati/logs/\w+\.log", said)
        assert kept is not None
        assert (project / kept[0]).read_text() == "LOG: bad size\nFATAL: no memory\nHINT: try\nLOG: down\n"

    def test_of_a_command_that_fails_beside_a_server(self, project: Path, capfd: Capture) -> None:
        own = "echo ERROR: earlier > {work}/s.log; echo up; while ! [ -e {work}/go ]; do sleep 0.01; done; "
        change(project, "echo up; exec sleep 60", own + "echo ERROR: disk full >> {work}/s.log; exec sleep 60")
        change(project, 'ready   = { line = "up" }', 'ready   = { line = "up" }\nlog = "{work}/s.log"')
        change(project, "echo m: 1 $NAMED", "touch {work}/go; sleep 0.3; exit 7")
        measure("fast=false", status=4)
        said = capfd.readouterr().err
        assert "the command ended with exit status 7; the server's log: ERROR: disk full (.hati/logs/" in said
        kept = next((project / ".hati/logs").iterdir())
        assert kept.read_text() == "up\nERROR: earlier\nERROR: disk full\n"

    def test_what_was_logged_before_a_run_is_not_its_reason(self, project: Path, capfd: Capture) -> None:
        change(project, "echo up;", "echo ERROR: of no matter; echo up;")
        change(project, "echo m: 1 $NAMED", "exit 7")
        measure("fast=false", status=4)
        assert "of no matter" not in capfd.readouterr().err

    def test_a_hundred_are_kept(self, project: Path) -> None:
        (project / ".hati/logs").mkdir(parents=True)
        for number in range(120):
            (project / f".hati/logs/{number}.log").touch()
        measure("fast=false")
        assert len(list((project / ".hati/logs").iterdir())) == 100


def test_the_environment_is_the_runs_own(project: Path, capfd: Capture) -> None:
    measure("threads=2")
    assert main(["runs", ".", "--format", "json"]) == 0
    capfd.readouterr()
    change(project, "{env:EVENTS_FILE}", "{env:NO_SUCH_VARIABLE}")
    measure("threads=2", status=4)
    assert "the environment variable 'NO_SUCH_VARIABLE' is not set; set it, as in" in capfd.readouterr().err


def test_root_runs_programs_as_another_user(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    change(project, 'name    = "b"', 'name    = "b"\nuser = "nobody"')
    change(project, "echo setup >>", "id -un >>")
    change(project, '["touch", "{work}/prepared"]', '["sh", "-c", "id -u > {work}/prepared; echo $HOME >> $EVENTS"]')
    change(project, "echo command $(cat", "echo command $(cat {work}/prepared) $(cat")
    with tempfile.TemporaryDirectory() as shared:  # pytest's folders are closed to others
        Path(shared).chmod(0o777)
        monkeypatch.setenv("EVENTS_FILE", f"{shared}/events")
        measure("fast=true", "fast=false")
        found = set(Path(shared, "events").read_text().splitlines())
    assert {
        user.pw_name,
        os.environ["HOME"] if os.geteuid() else user.pw_dir,
        f"command {user.pw_uid} size=10",
    } <= found
    assert not shared_work_root(project).exists()


def test_a_user_that_is_none_is_reported_before_the_first_run(project: Path, capfd: Capture) -> None:
    change(project, 'name    = "b"', 'name    = "b"\nuser = "no-such-user"')
    measure("fast=true", status=2 if os.geteuid() == 0 else 0)
    if os.geteuid() == 0:
        assert "there is no user 'no-such-user'" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('reload  = ["sh", "-c", "echo reload >> $EVENTS"]', "", "option 'size' has reload = true, and"),
        ("reload   = true", 'reload   = ["set", "{sise}"]', "unknown placeholder {sise}; did you mean {size}?"),
        ("reload   = true", 'reload   = true\nenv = "SIZE"', "a running server cannot take over what it gets by `env`"),
        ('NAMED = "{port}', 'NAMED = "{prot}', "unknown placeholder {prot}; did you mean {port}?"),
        ("NAMED =", '"A=B" =', "'A=B' cannot name an environment variable"),
        ('setup   = [["ls"', 'setup   = ["a", ["ls"', "expected a list of arguments, found text"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(project: Path, capfd: Capture, old: str, new: str, said: str) -> None:
    change(project, old, new)
    measure("fast=true", status=2)
    error = capfd.readouterr().err
    assert said in error
    assert re.search(r"hati\.toml:\d+:\d+: ", error)


def test_secrets_are_kept_nowhere(project: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    secret = "hunter2-hunter2"
    monkeypatch.setenv("DB_PASSWORD", secret)
    change(project, 'name = "s"', 'name = "s"\nsecrets = ["DB_PASSWORD"]')
    change(project, "echo server {threads} >> $EVENTS;", "echo login $DB_PASSWORD;")
    change(project, "echo m: 1 $NAMED", "echo error: $DB_PASSWORD is wrong; exit 3")
    measure("fast=true", status=4)
    assert "error: *** is wrong" in capfd.readouterr().err
    kept = [path for path in (project / ".hati").rglob("*") if path.is_file()]
    assert any("login ***" in path.read_text() for path in kept if path.suffix == ".log")
    assert not [path for path in kept if secret.encode() in path.read_bytes()]


def test_no_part_of_a_secret_is_quoted_of_what_cannot_be_read(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    secret = "hunter2-" * 9
    monkeypatch.setenv("DB_PASSWORD", secret)
    change(project, 'name = "s"', 'name = "s"\nsecrets = ["DB_PASSWORD"]')
    change(project, "echo m: 1 $NAMED", "echo m: $DB_PASSWORD")
    change(project, '"m: (.)"', '"m: (.*)"')
    measure("fast=true", status=4)
    assert "hunter2" not in capfd.readouterr().err
    kept = [path for path in (project / ".hati").rglob("*") if path.is_file()]
    assert not [path for path in kept if b"hunter2" in path.read_bytes()]


def test_a_command_that_kills_what_watches_over_it_beside_a_server_fails_alone(project: Path) -> None:
    change(project, "echo m: 1 $NAMED", "[ {threads} = 1 ] || kill -9 $PPID; echo m: 1 $NAMED")
    measure("threads=1", "threads=2", budget=4)
    assert events(project).count("cleanup") >= 2
