from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hati.core import (
    Benchmark,
    Binding,
    Configuration,
    ConfigurationFile,
    InputError,
    Job,
    Machine,
    MeasurementError,
    Metric,
    Outcome,
    Reader,
    ReaderKind,
    Ready,
    Reset,
    ResetBefore,
    Run,
    Server,
    Task,
    Workload,
)
from hati.subject import InPlace, LocalSubject, Supervisor, machine, machine_identity, make_own
from hati.subject.running import local, servers

Measure = Callable[..., Run]

HATI = ReaderKind.HATI
LATENCY = (Metric("latency", "s"),)
METRICS = (Metric("wall_time", "s"),)


def sh(script: str) -> tuple[str, ...]:
    return ("sh", "-c", script)


def prints(reading: str) -> tuple[str, ...]:
    return ("echo", reading.replace("{", "{{").replace("}", "}}"))


GOOD = prints('{"metric": "latency", "values": [3, 1, 2]}')


class TestOutcomes:
    def test_done(self, measure: Measure) -> None:
        run = measure(*GOOD, kind=HATI, metrics=LATENCY, warmup=1)
        assert run.outcome is Outcome.DONE, run.detail
        observations = run.of("latency")
        assert observations is not None
        assert (list(observations.values), observations.warmup) == ([3.0, 1.0, 2.0], 1)
        assert (run.exit, run.detail, run.machine) == (0, "", machine().fingerprint)
        assert run.output.startswith('{"metric"')
        assert run.resources is not None
        assert run.resources.peak_memory > 0
        assert 0 < run.resources.wall_time < run.seconds
        assert run.resources.load >= 0
        assert abs((datetime.now(UTC) - run.started).total_seconds()) < 60

    def test_a_bad_end_has_status_and_last_line(self, measure: Measure) -> None:
        run = measure(*sh("echo working; echo no space for the cat >&2; exit 3"))
        assert (run.outcome, run.exit) == (Outcome.FAILED, 3)
        assert run.detail == "the command ended with exit status 3: no space for the cat"
        assert run.output == "working\nno space for the cat\n"
        assert run.resources is not None
        assert run.observations == ()

    def test_a_hint_at_the_usage_is_no_reason(self, measure: Measure) -> None:
        run = measure(*sh("echo \"xz: unrecognized option '--riscv'\" >&2; echo \"xz: Try 'xz --help'.\" >&2; exit 1"))
        assert run.detail == "the command ended with exit status 1: xz: unrecognized option '--riscv'"

    def test_a_compilers_first_error_is_the_reason(self, measure: Measure) -> None:
        said = [
            "j.c: In function 'f':",
            "j.c:4:9: warning: unused",
            "j.c:7:3: error: 'x' undeclared",
            "    7 |   x = 1;",
        ]
        run = measure(*sh(f"cat >&2 <<'END'\n{chr(10).join([*said, 'j.c:9: error: second'])}\nEND\nexit 1"))
        assert run.detail == "the command ended with exit status 1: j.c:7:3: error: 'x' undeclared"

    def test_a_signal_is_named(self, measure: Measure) -> None:
        run = measure(*sh("kill -ABRT $$"))
        assert (run.outcome, run.exit, run.detail) == (Outcome.FAILED, -6, "the command ended with signal SIGABRT")

    def test_a_limit(self, measure: Measure) -> None:
        run = measure("sleep", "30", timeout=0.1)
        assert run.outcome is Outcome.TIMEOUT
        assert "did not end within 0.1 s" in run.detail
        assert "raise `timeout`" in run.detail

    @pytest.mark.parametrize(
        ("command", "words"),
        [
            (("true",), "finds nothing in it"),
            (prints('{"metric": "latency", "value": NaN}'), "NaN is not a valid number"),
            (prints('{"metric": "latency", "value": -1}'), "negative time"),
            (sh("head -c 10000000 /dev/urandom"), "finds nothing in it"),
        ],
    )
    def test_nonsense_is_unreadable(self, measure: Measure, command: tuple[str, ...], words: str) -> None:
        run = measure(*command, kind=HATI, metrics=LATENCY)
        assert (run.outcome, run.exit) == (Outcome.UNREADABLE, 0)
        assert words in run.detail

    def test_too_much_output(self, measure: Measure) -> None:
        run = measure(*sh("head -c 20000000 /dev/zero"))
        assert run.outcome is Outcome.FAILED
        assert "printed more than 16 MiB" in run.detail

    def test_a_missing_program(self, measure: Measure) -> None:
        run = measure("no-such-program")
        assert (run.outcome, run.exit, run.resources) == (Outcome.NOT_STARTED, None, None)
        assert run.detail == "there is no program 'no-such-program' on PATH; install it, or correct the command"

    def test_an_unknown_placeholder(self, measure: Measure) -> None:
        run = measure("echo", "{cache}", configuration={"caches": 1})
        assert run.outcome is Outcome.NOT_STARTED
        assert "unknown placeholder {cache}" in run.detail
        assert "did you mean {caches}?" in run.detail

    def test_a_full_disk(self, measure: Measure) -> None:
        run = measure("true", files=(ConfigurationFile("/dev/full", "x", "a.ini.j2"),))
        assert run.outcome is Outcome.NOT_STARTED
        assert re.fullmatch(r"cannot write: No space left on device \(.* free\); free some space", run.detail)

    def test_a_disk_that_the_command_finds_full(self, measure: Measure) -> None:
        run = measure(*sh("head -c 9 /dev/zero > /dev/full"))
        assert run.outcome is Outcome.FAILED
        assert "No space left on device" in run.detail


class TestCommand:
    def test_placeholders(self, measure: Measure, tmp_path: Path) -> None:
        run = measure(
            *sh("echo {level} {flag} {n} {revision} {repetition} {{}}; pwd; ls -A '{work}' | wc -l; touch '{work}/x'"),
            configuration={"level": 3, "flag": True},
            workload={"n": 10},
            repetition=7,
        )
        assert run.output.split() == ["3", "true", "10", "rev1", "7", "{}", str(tmp_path / "project"), "0"]
        assert [path.name for path in (tmp_path / "project/.hati/work").iterdir()] == ["CACHEDIR.TAG"]

    def test_placeholders_in_patterns_stand_for_their_own_text(self, measure: Measure) -> None:
        run = measure(
            *sh("echo 'size 1.5+: 20 ms'; echo 'size 1055: 30 ms'"),
            kind=ReaderKind.REGEX,
            patterns=(("latency", r"size {n}: (\d{2}) ms"),),
            workload={"n": "1.5+"},
            metrics=(Metric("latency", "ms"),),
        )
        assert [list(one.values) for one in run.observations] == [[20.0]], run.detail
        document = sh("""echo '{{"10": [1, 2], "20": [3]}}'""")
        run = measure(
            *document,
            kind=ReaderKind.JSON,
            patterns=(("latency", '["{n}"]'),),
            configuration={"n": 10},
            metrics=(Metric("latency", "ms"),),
        )
        assert [list(one.values) for one in run.observations] == [[1.0, 2.0]], run.detail

    def test_arguments_of_active_options_follow_the_command(self, measure: Measure) -> None:
        run = measure(
            "echo",
            configuration={"mode": "a b", "size": 2.5, "fast": True, "slow": False},
            bindings=(
                Binding("mode", argument="--mode={}"),
                Binding("size", argument="--size {} --in {work}"),
                Binding("fast", argument="--fast"),
                Binding("slow", argument="--slow"),
                Binding("inactive", argument="--never={}"),
            ),
        )
        assert run.output.startswith("--mode=a b --size 2.5 --in /")
        assert run.output.endswith(" --fast\n")

    def test_a_setting_with_braces_is_no_placeholder(self, measure: Measure) -> None:
        run = measure("echo", configuration={"x": "{work}"}, bindings=(Binding("x", argument="{}"),))
        assert run.output == "{work}\n"

    def test_environment(self, measure: Measure) -> None:
        bindings = (Binding("a", env="HATI_A"), Binding("gone", env="HATI_GONE"))
        run = measure(*sh("echo $HATI_A ${{HATI_GONE-unset}}"), configuration={"a": False}, bindings=bindings)
        assert run.output == "false unset\n"

    def test_a_file_made_from_its_template(self, measure: Measure) -> None:
        template = "{% for i in range(2) %}{{ mode }}{{ i }} {% endfor %}{{ workload.n * 2 }} {{ flag }}\n"
        run = measure(
            "cat",
            "{file:etc/a.ini}",
            configuration={"mode": "x", "flag": True},
            workload={"n": 4},
            files=(ConfigurationFile("etc/a.ini", template, "a.ini.j2"),),
        )
        assert run.output == "x0 x1 8 true\n"

    @pytest.mark.parametrize(
        ("template", "words"),
        [
            ("a\n{{ mod }}", "a.ini.j2:2: template: 'mod' is undefined"),
            ("\n\n{{ 1 / 0 }}", "a.ini.j2:3: template: division by zero"),
        ],
    )
    def test_a_template_that_fails(self, measure: Measure, template: str, words: str) -> None:
        run = measure("true", configuration={"mode": "x"}, files=(ConfigurationFile("a", template, "a.ini.j2"),))
        assert run.outcome is Outcome.NOT_STARTED
        assert words in run.detail

    def test_pinning(self, measure: Measure) -> None:
        cpu = min(os.sched_getaffinity(0))
        run = measure(*sh("grep Cpus_allowed_list /proc/self/status"), cpus=(cpu,))
        assert run.output.split() == ["Cpus_allowed_list:", str(cpu)]


class TestSteps:
    def test_prepare_is_not_measured_and_cleanup_follows(self, measure: Measure, tmp_path: Path) -> None:
        log = tmp_path / "log"
        run = measure(
            *sh(f"echo run >> {log}"),
            prepare=(sh(f"sleep 0.2; echo prepare '{{work}}' >> {log}"), sh("touch '{work}/x'")),
            cleanup=(sh(f"echo cleanup $(ls '{{work}}') >> {log}"),),
        )
        assert run.outcome is Outcome.DONE
        assert [line.split()[0] for line in log.read_text().splitlines()] == ["prepare", "run", "cleanup"]
        assert log.read_text().endswith("cleanup x\n")
        assert run.resources is not None
        assert run.resources.wall_time <= run.seconds - 0.1

    @pytest.mark.parametrize("command", [sh("exit 1"), ("no-such-program",), ("echo", "{nothing}")])
    def test_cleanup_follows_whatever_happens(self, measure: Measure, tmp_path: Path, command: tuple[str, ...]) -> None:
        run = measure(*command, prepare=(("true",),), cleanup=(("touch", str(tmp_path / "clean")),))
        assert run.outcome in {Outcome.FAILED, Outcome.NOT_STARTED}
        assert (tmp_path / "clean").exists() == (command[0] != "echo")

    def test_a_failing_prepare(self, measure: Measure, tmp_path: Path) -> None:
        run = measure(
            "touch",
            str(tmp_path / "ran"),
            prepare=(sh("echo no data; exit 2"), ("touch", str(tmp_path / "ran"))),
            cleanup=(("touch", str(tmp_path / "clean")),),
        )
        assert (run.outcome, run.exit) == (Outcome.NOT_STARTED, None)
        assert run.detail == "`prepare` ended with exit status 2: no data"
        assert (tmp_path / "clean").exists()
        assert not (tmp_path / "ran").exists()

    def test_a_failing_cleanup_is_a_remark(self, measure: Measure) -> None:
        run = measure("true", cleanup=(sh("exit 4"),))
        assert run.outcome is Outcome.DONE
        assert run.detail == "`cleanup` ended with exit status 4"


SERVE = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(float(sys.argv[2]))
print("it is listening", flush=True)
while True:
    connection, _ = listener.accept()
    connection.close()
"""


class TestReset:
    """Before each run, or each repetition, and its time apart."""

    @pytest.fixture
    def measured(self, tmp_path: Path, supervisor: Supervisor) -> Callable[..., list[Run]]:
        def make(reset: Reset, server: Server | None = None) -> list[Run]:
            binding = Binding("n", reload=(("true",),)) if server else Binding("n")
            benchmark = Benchmark(
                "b",
                sh("echo run >> log"),
                Reader(ReaderKind.PROCESS),
                METRICS,
                bindings=(binding,),
                reset=reset,
                server=server,
            )
            subject = LocalSubject(tmp_path, machine())
            subject.tidy()
            tasks = [
                Task("s", "design", "b", Configuration({"n": n}), "r", Workload({"k": 7}), repetition)
                for repetition in (0, 1)
                for n in (1, 2)
            ]
            runs = [subject.measure(Job(task, benchmark, ""), supervisor) for task in tasks]
            subject.retire()
            return runs

        return make

    RESET = sh("echo reset {repetition} {k} >> log; sleep 0.05")  # {k} of the workload

    def test_before_each_run(self, measured: Callable[..., list[Run]], tmp_path: Path) -> None:
        runs = measured(Reset((self.RESET,)))
        assert (tmp_path / "log").read_text().splitlines() == [
            *("reset 0 7", "run") * 2,
            *("reset 1 7", "run") * 2,
        ]
        for run in runs:
            assert run.outcome is Outcome.DONE, run.detail
            assert run.reset is not None
            assert run.resources is not None
            assert 0.05 <= run.reset <= run.seconds - run.resources.wall_time

    def test_before_each_repetition(self, measured: Callable[..., list[Run]], tmp_path: Path) -> None:
        runs = measured(Reset((self.RESET,), ResetBefore.REPETITION))
        lines = (tmp_path / "log").read_text().splitlines()
        assert lines == ["reset 0 7", "run", "run", "reset 1 7", "run", "run"]
        assert [run.reset is None for run in runs] == [False, True, False, True]

    def test_no_server_lives_on_through_it(self, measured: Callable[..., list[Run]], tmp_path: Path) -> None:
        server = Server(sh("echo up; echo server >> log; exec sleep 60"), Ready(line="up"))
        measured(Reset((self.RESET,), ResetBefore.REPETITION), server)
        lines = (tmp_path / "log").read_text().splitlines()
        assert lines == ["reset 0 7", "server", "run", "run", "reset 1 7", "server", "run", "run"]

    def test_one_that_fails_is_told_and_tried_again(self, measured: Callable[..., list[Run]]) -> None:
        runs = measured(Reset((sh("echo no disk >&2; exit 3"),), ResetBefore.REPETITION))
        assert {run.outcome for run in runs} == {Outcome.NOT_STARTED}
        assert {run.detail for run in runs} == {"`reset` ended with exit status 3: no disk"}


class TestServer:
    @pytest.fixture
    def serve(self, tmp_path: Path) -> tuple[str, ...]:
        (tmp_path / "serve.py").write_text(SERVE)
        return ("python3", "-S", "-E", str(tmp_path / "serve.py"), "{port}")

    def test_ready_by_port_and_line(self, measure: Measure, serve: tuple[str, ...]) -> None:
        connect = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])))"
        run = measure(
            *("python3", "-S", "-E", "-c", connect, "{port}"),
            server=Server((*serve, "0.1"), Ready(port=True, line="listening")),
        )
        assert run.outcome is Outcome.DONE, run.detail
        assert run.seconds > 0.1
        assert run.resources is not None
        assert run.resources.wall_time < run.seconds - 0.1

    @pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
    def test_another_program_on_its_port_is_not_ready_for_it(
        self, measure: Measure, serve: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        """One that begins to listen after the port was found free, such as during `prepare`."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            listener = socket.create_server((address, 0), family=family)
        except OSError:
            pytest.skip(f"nothing can listen on {address} here")
        with listener:
            port = listener.getsockname()[1]
            monkeypatch.setattr(local, "free_port", lambda: port)
            run = measure("true", server=Server((*serve, "60"), Ready(port=True, timeout=0.5)))
        assert (run.outcome, run.exit) == (Outcome.NOT_STARTED, None)
        process = f"process {os.getpid()} ({Path('/proc/self/comm').read_text().strip()})"
        assert f"port {port} is in use: {process} listens on it, and would be measured instead" in run.detail

    def test_a_port_on_which_something_listens_by_another_protocol_is_not_free(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked_at = list[int]()

        def accepts(port: int) -> bool:
            looked_at.append(port)
            return len(looked_at) == 1

        monkeypatch.setattr(servers, "_accepts", accepts)
        assert servers.free_port() == looked_at[1]

    def test_its_port_is_free_again(self, measure: Measure, serve: tuple[str, ...]) -> None:
        run = measure("echo", "{port}", server=Server((*serve, "0"), Ready(port=True)))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(run.output)))

    @pytest.mark.parametrize(
        ("command", "ready", "words"),
        [
            (("sleep", "60"), Ready(port=True, timeout=0.1), "not ready within 0.1 s: nothing listens on port"),
            (
                sh("echo starting; sleep 60"),
                Ready(line="up", timeout=2.0),
                "not ready within 2 s: it did not print 'up': starting",
            ),
            (sh("echo bad option >&2; exit 2"), Ready(line="up"), "the server ended with exit status 2: bad option"),
            (("true",), Ready(line="up"), "the server ended at once"),
            (("no-such-server",), Ready(line="up"), "no program 'no-such-server'"),
        ],
    )
    def test_never_ready(self, measure: Measure, command: tuple[str, ...], ready: Ready, words: str) -> None:
        run = measure("true", server=Server(command, ready))
        assert (run.outcome, run.exit) == (Outcome.NOT_STARTED, None)
        assert run.detail.count(words) == 1

    def test_one_that_dies_under_the_command(self, measure: Measure) -> None:
        run = measure("sleep", "0.2", server=Server(sh("echo up; sleep 0.1; exit 9"), Ready(line="up")))
        assert run.outcome is Outcome.FAILED
        assert re.fullmatch(r"the server ended with exit status 9: up \(\.hati/logs/[0-9a-f]{16}\.log\)", run.detail)

    def test_one_that_is_killed_is_named_before_the_error_of_its_client(self, measure: Measure) -> None:
        killed = Server(sh("echo up; sleep 0.1; kill -9 $$"), Ready(line="up"))
        run = measure("sh", "-c", "sleep 0.3; echo lost connection; exit 1", server=killed)
        both = "the server ended with signal SIGKILL: up; the command ended with exit status 1: lost connection"
        assert run.detail.startswith(both)

    def test_no_process_is_left(self, measure: Measure, all_gone: Callable[[str], bool]) -> None:
        mark = f"41{time.time_ns()}"
        server = Server(sh(f"setsid sleep {mark} & echo up; sleep {mark}"), Ready(line="up"))
        assert measure("true", server=server).outcome is Outcome.DONE
        assert all_gone(mark)


class TestBuild:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        (tmp_path / "main.in").write_text("level=@LEVEL@ kind=$KIND\n")
        (tmp_path / "make.sh").write_text(
            '#!/bin/sh\necho built >> "$LOG"\nsed "s/@LEVEL@/$1/" main.in > main.out; echo $KIND >> main.out\n'
            '[ "$1" != 9 ] || { echo cannot do 9 >&2; exit 1; }\n'
            '[ "$1" != 8 ] || [ -e "$LOG.once" ] || { touch "$LOG.once"; kill -9 $PPID; sleep 3; }\n'
        )
        (tmp_path / "make.sh").chmod(0o755)
        return tmp_path

    @pytest.fixture
    def build(self, root: Path, supervisor: Supervisor) -> Iterator[Callable[..., Run]]:
        bindings = (Binding("level", argument="{}", build=True), Binding("kind", env="KIND", build=True))
        benchmark = Benchmark(
            "b",
            ("cat", "main.out"),
            Reader(ReaderKind.PROCESS),
            METRICS,
            (("./make.sh",),),
            bindings=bindings,
        )
        environment = {**os.environ, "LOG": str(root / ".hati/log")}
        subject = LocalSubject(root, machine(), environment=environment)
        subject.tidy()

        def make(level: int, revision: str = "r", other: int = 0) -> Run:
            configuration = Configuration({"level": level, "kind": "k", "other": other})
            return subject.measure(
                Job(Task("s", "design", "b", configuration, revision, Workload(), 1), benchmark, ""), supervisor
            )

        return make

    def test_once_per_revision_and_options(self, build: Callable[..., Run], root: Path) -> None:
        outputs = [build(1), build(2), build(1, other=1), build(2, other=1), build(1, "r2")]
        assert [run.output.split("\n")[:2] for run in outputs] == [
            [f"level={level} kind=$KIND", "k"] for level in (1, 2, 1, 2, 1)
        ]
        assert (root / ".hati/log").read_text().count("built") == 3
        assert not (root / "main.out").exists()

    @pytest.mark.parametrize("name", ["architecture", "processor", "system", "name"])
    def test_once_for_each_class_of_machines(self, root: Path, supervisor: Supervisor, name: str) -> None:
        """A folder that machines share, of which one has another processor or system, or only another name."""
        build = ("sh", "-c", "echo $CFLAGS > made; echo built >> $LOG")
        benchmark = Benchmark("b", ("cat", "made"), Reader(ReaderKind.PROCESS), METRICS, (build,))
        environment = {**os.environ, "LOG": str(root / ".hati/log")}
        task = Task("s", "design", "b", Configuration(), "r", Workload(), 1)
        here = machine()
        other = Machine.of({**dict(here.properties), name: "another"})
        for place in (here, other, here):
            subject = LocalSubject(root, place, environment=environment)
            subject.tidy()
            assert subject.measure(Job(task, benchmark, ""), supervisor).outcome is Outcome.DONE
        assert (root / ".hati/log").read_text() == "built\n" * (1 if name == "name" else 2)

    def test_once_for_each_set_of_instructions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Processors of one name may have different ones, as in virtual machines."""
        found = set()
        for flags in ("sse avx", "sse avx avx512f", "sse avx"):
            text = f"processor\t: 0\nflags\t\t: {flags}\nbogomips\t: {len(found)}\n"
            monkeypatch.setattr(machine_identity, "_cpu_info", lambda text=text: text)
            found.add(machine_identity.build_class(machine()))
        assert len(found) == 2

    def test_once_per_parameter_of_the_workload_that_it_names(self, root: Path, supervisor: Supervisor) -> None:
        build = ("sh", "-c", "echo {n} > made; echo built >> $LOG")
        benchmark = Benchmark("b", ("cat", "made"), Reader(ReaderKind.PROCESS), METRICS, (build,))
        environment = {**os.environ, "LOG": str(root / ".hati/log")}
        subject = LocalSubject(root, machine(), environment=environment)
        subject.tidy()

        def output(n: int, unnamed: int) -> str:
            workload = Workload({"n": n, "m": unnamed})
            return subject.measure(
                Job(Task("s", "design", "b", Configuration(), "r", workload, 1), benchmark, ""), supervisor
            ).output

        assert [output(1, 1), output(2, 1), output(1, 2)] == ["1\n", "2\n", "1\n"]
        assert (root / ".hati/log").read_text() == "built\n" * 2

    def test_an_edit_during_a_campaign_is_in_none_of_its_builds(self, root: Path, supervisor: Supervisor) -> None:
        build = Benchmark(
            "b", ("cat", "made"), Reader(ReaderKind.PROCESS), METRICS, (("sh", "-c", "cat main.in >made; : {n}"),)
        )
        folder = InPlace(root)
        subject = LocalSubject(root, machine(), trees=folder)

        def output(n: int) -> str:
            task = Task("s", "design", "b", Configuration(), folder.revision, Workload({"n": n}), 1)
            return subject.measure(Job(task, build, ""), supervisor).output

        subject.tidy()
        before = output(1)
        (root / "main.in").write_text("edited\n")
        assert output(2) == before == "level=@LEVEL@ kind=$KIND\n"
        assert InPlace(root).revision != folder.revision
        subject.close()
        with pytest.raises(MeasurementError, match=r"edited before its files were copied: main\.in; start again"):
            output(3)

    def test_a_log_that_is_written_during_a_campaign_is_in_none_of_its_builds(
        self, root: Path, supervisor: Supervisor
    ) -> None:
        benchmark = Benchmark("b", ("cat", "made"), Reader(ReaderKind.PROCESS), METRICS, (sh("cat log.txt >made"),))
        (root / "log.txt").touch()
        folder = InPlace(root)
        subject = LocalSubject(root, machine(), trees=folder)
        subject.tidy()
        (root / "log.txt").write_text("began\n")
        task = Task("s", "design", "b", Configuration(), folder.revision, Workload(), 1)
        run = subject.measure(Job(task, benchmark, ""), supervisor)
        assert (run.outcome, run.output) == (Outcome.DONE, "")
        subject.close()

    def test_a_failing_build_is_told_with_its_output_and_not_repeated(
        self, build: Callable[..., Run], root: Path
    ) -> None:
        first, second = build(9), build(9, other=1)
        for run in (first, second):
            assert run.outcome is Outcome.NOT_BUILT
            assert run.detail == "the build ended with exit status 1: cannot do 9\ncannot do 9"
        assert (root / ".hati/log").read_text().count("built") == 1
        assert build(1).outcome is Outcome.DONE

    def test_a_build_that_lost_what_watches_over_it_is_tried_again(self, build: Callable[..., Run]) -> None:
        lost = build(8)
        assert (lost.outcome, lost.exit, lost.resources) == (Outcome.NOT_BUILT, None, None)
        assert lost.detail.startswith("the build: the supervisor of the command was killed")
        assert build(8).outcome is Outcome.DONE

    def test_a_build_that_was_interrupted_is_made_again(self, build: Callable[..., Run], root: Path) -> None:
        build(1)
        for mark in (root / ".hati/builds").glob("*.built"):
            mark.unlink()
        next(place for place in (root / ".hati/builds").iterdir() if place.is_dir()).joinpath("main.out").write_text(
            "half"
        )
        assert build(1).output.startswith("level=1")


class TestBefore:
    """What concerns every run is found before the first."""

    def subject(self, root: Path, **about: object) -> LocalSubject:
        benchmark = Benchmark("b", ("true",), Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),), **about)  # type: ignore[arg-type]  # shortens the tests
        subject = LocalSubject(root, machine())
        subject.check(benchmark)
        return subject

    def test_a_cpu_that_is_not_there(self, tmp_path: Path) -> None:
        available = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        with pytest.raises(InputError, match=f"CPU 4711, which is not there; available: {available}"):
            self.subject(tmp_path, cpus=(4711,))
        with pytest.raises(InputError, match="CPU 4711"):
            self.subject(tmp_path, server=Server(("x",), Ready(), (4711,)))

    def test_a_template_with_bad_syntax(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"a\.j2:2: template: "):
            self.subject(tmp_path, files=(ConfigurationFile("a", "\n{{ x", "a.j2"),))

    def test_a_file_outside_of_the_work_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="outside of the work folder"):
            self.subject(tmp_path, files=(ConfigurationFile("../a", "", "a.j2"),))

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / ".hati").write_text("a file where the folder should be")
        with pytest.raises(MeasurementError, match=r"cannot write to .*\.hati/work: .*; let hati write there"):
            self.subject(tmp_path).tidy()

    def test_stale_work_folders_are_removed(self, tmp_path: Path) -> None:
        make_own(tmp_path)
        stale = tmp_path / ".hati/work/stale/deep"
        stale.mkdir(parents=True)
        (stale / "file").touch()
        stale.chmod(0o500)
        self.subject(tmp_path).tidy()
        assert [path.name for path in (tmp_path / ".hati/work").iterdir()] == ["CACHEDIR.TAG"]


def test_a_disk_that_is_really_full(small_disk: Path, supervisor: Supervisor) -> None:
    benchmark = Benchmark(
        "b",
        sh("head -c 2000000 /dev/zero > '{work}/big'"),
        Reader(ReaderKind.PROCESS),
        (Metric("wall_time", "s"),),
        files=(ConfigurationFile("a", "x" * 100_000, "a.j2"),),
    )
    subject = LocalSubject(small_disk, machine())
    subject.tidy()
    task = Task("s", "design", "b", Configuration(), "r", Workload(), 1)
    by_subject = subject.measure(Job(task, benchmark, ""), supervisor)
    assert by_subject.outcome is Outcome.FAILED
    assert "No space left on device" in by_subject.detail
    (small_disk / "filler").write_bytes(b"x" * 1_000_000)
    by_hati = subject.measure(Job(task, benchmark, ""), supervisor)
    assert by_hati.outcome is Outcome.NOT_STARTED
    assert "No space left on device (" in by_hati.detail
    assert " free); free some space" in by_hati.detail
    (small_disk / "filler").unlink()
    assert "No space left" in subject.measure(Job(task, benchmark, ""), supervisor).detail
