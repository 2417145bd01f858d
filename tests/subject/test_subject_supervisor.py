from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hati.core import InputError, MeasurementError, Outcome
from hati.subject import Program, Supervisor
from hati.subject.running import programs
from hati.subject.running.programs import LARGEST_OUTPUT, Masking, RunFailure
from hati.subject.running.supervisor import program as supervised
from hati.subject.running.supervisor.program import kill

Make = Callable[..., Program]


def test_output_and_status(supervisor: Supervisor, program: Make) -> None:
    ending = supervisor.run(program("echo out; echo err >&2; exit 3"))
    assert (ending.exit, ending.stdout, ending.output, ending.problem) == (3, b"out\n", "out\nerr\n", "")


def test_no_part_of_a_secret_is_left_where_outputs_are_cut(program: Make) -> None:
    masking = Masking(("s3cret-token",))
    for padding in range(4096 - 20, 4096 + 2):
        supervisor = Supervisor(masking=masking)
        printed = "print('o' * 5000); print('s3cret-token' + 'e' * {}, file=sys.stderr)"
        ending = supervisor.run(program(python="import sys; " + printed.format(padding)))
        supervisor.close()
        assert "toke" not in ending.output
        assert "oken" not in ending.output


def test_a_signal_is_a_negative_status(supervisor: Supervisor, program: Make) -> None:
    assert supervisor.run(program("kill -SEGV $$")).exit == -11


def test_programs_follow_each_other_in_one_supervisor(supervisor: Supervisor, program: Make) -> None:
    outputs = [supervisor.run(program(f"echo {'x' * (9 - i)}")).stdout for i in range(9)]
    assert outputs == [b"x" * (9 - i) + b"\n" for i in range(9)]


def test_standard_input_is_empty(supervisor: Supervisor, program: Make) -> None:
    assert supervisor.run(program("cat")).exit == 0


def test_signals_have_their_defaults(supervisor: Supervisor, program: Make) -> None:
    ending = supervisor.run(program("grep -E '^Sig(Ign|Blk)' /proc/self/status"))
    usual = (1 << 31) - 1  # signals 32 and 33 are the C library's own
    assert [int(line.split()[1], 16) & usual for line in ending.stdout.splitlines()] == [0, 0]


def test_no_descriptor_is_inherited(tmp_path: Path, program: Make) -> None:
    with (tmp_path / "lock").open("w") as lock:
        supervisor = Supervisor(lock.fileno())
        ending = supervisor.run(program("ls /proc/$$/fd"))
        supervisor.close()
    assert set(ending.stdout.split()) <= {b"0", b"1", b"2"}


def test_every_program_has_a_group_of_its_own_and_no_terminal(supervisor: Supervisor, program: Make) -> None:
    assert supervisor.run(program(python="import os; print(os.getpgid(0) == os.getpid())")).stdout == b"True\n"
    assert "No such device" in supervisor.run(program("cat /dev/tty")).output


def test_wall_time(supervisor: Supervisor, program: Make) -> None:
    began = time.monotonic()
    wall = supervisor.run(program("sleep 0.2")).wall
    assert 0.1 <= wall <= time.monotonic() - began


def test_processor_time_and_switches_of_grandchildren_count(supervisor: Supervisor, program: Make) -> None:
    burn = "import time\nwhile time.process_time() < 0.15: pass\n"
    waited_for = "import os\nif os.fork() == 0:\n  if os.fork() == 0:\n"
    waited_for += (
        "".join(f"    {line}\n" for line in burn.splitlines())
        + "    os._exit(0)\n  os.wait()\n  os._exit(0)\nos.wait()"
    )
    ending = supervisor.run(program(python=waited_for))
    assert 0.15 <= ending.user + ending.system < 0.6
    assert ending.voluntary >= 2


def test_processor_time_of_orphans_counts(supervisor: Supervisor, program: Make) -> None:
    orphan = (
        "import os, time\nr, w = os.pipe()\n"
        "if os.fork() == 0:\n  if os.fork(): os._exit(0)\n  os.setsid()\n"
        "  while time.process_time() < 0.15: pass\n  os.write(w, b'x')\n  os._exit(0)\n"
        "os.wait(); os.read(r, 1)"
    )
    assert 0.15 <= (ending := supervisor.run(program(python=orphan))).user + ending.system < 0.6


def test_peak_memory_of_the_largest_process(supervisor: Supervisor, program: Make) -> None:
    ending = supervisor.run(program(python="x = bytearray(100 << 20); del x"))
    assert 100 << 20 <= ending.peak < 140 << 20


def test_peak_memory_is_of_the_whole_tree(supervisor: Supervisor, program: Make) -> None:
    together = "import os, time\nr, w = os.pipe()\nlast, go = os.pipe()\n"
    together += "for _ in range(3):\n  if not (child := os.fork()): break\n"
    together += "x = bytearray(b'1') * (40 << 20)\nos.write(w, b'x')\n"  # all have it before the first one ends
    together += (
        "if child:\n  for _ in range(4): os.read(r, 1)\n  time.sleep(1.5)\n  os.write(go, b'xxxx')\nos.read(last, 1)\n"
    )
    assert supervisor.run(program(python=together)).peak >= 160 << 20


def test_a_small_peak_after_a_large_output(supervisor: Supervisor, program: Make) -> None:
    before = supervisor.run(program("true")).peak
    assert len(supervisor.run(program("head -c 15000000 /dev/zero")).stdout) == 15_000_000
    assert supervisor.run(program("true")).peak < before + (2 << 20)


def test_a_hanging_tree_is_killed_at_the_limit(
    supervisor: Supervisor, program: Make, all_gone: Callable[[str], bool]
) -> None:
    mark = f"31{time.time_ns()}"
    script = f"setsid sleep {mark} & (setsid sh -c '(trap \"\" TERM; sleep {mark}; true) &' &) ; sleep {mark}"
    ending = supervisor.run(program(script, timeout=0.3))
    assert (ending.problem, ending.exit) == ("timeout", -9)
    assert all_gone(mark)


def test_what_a_command_leaves_is_killed(
    supervisor: Supervisor, program: Make, all_gone: Callable[[str], bool]
) -> None:
    mark = f"32{time.time_ns()}"
    assert supervisor.run(program(f"setsid sleep {mark} & sleep {mark} & exit 0")).exit == 0
    assert all_gone(mark)


def test_what_forks_faster_than_one_can_look_is_killed(
    supervisor: Supervisor, program: Make, all_gone: Callable[[str], bool]
) -> None:
    mark = f"33{time.time_ns()}"
    hydra = "import os, sys\nwhile True:\n  if os.fork(): os._exit(0)\n  os.setsid()"
    argv = ("python3", "-S", "-E", "-c", hydra, mark)
    supervisor.run(program(argv=argv, timeout=0.2))
    assert all_gone(mark)


def test_a_process_that_joins_the_supervisor_is_killed_alone(
    supervisor: Supervisor, program: Make, all_gone: Callable[[str], bool]
) -> None:
    mark = f"37{time.time_ns()}"
    join = f"import os, subprocess; os.setpgid(0, os.getppid()); subprocess.Popen(['sleep', '{mark}'])"
    assert supervisor.run(program(python=join + "; os._exit(0)")).exit == 0
    assert all_gone(mark)
    assert supervisor.run(program("echo still")).stdout == b"still\n"


def test_more_output_than_is_read_ends_the_program(supervisor: Supervisor, program: Make) -> None:
    ending = supervisor.run(program("head -c 20000000 /dev/zero; sleep 20"))
    assert (ending.problem, ending.stdout) == ("output", b"")


def test_the_largest_output_is_whole(supervisor: Supervisor, program: Make) -> None:
    ending = supervisor.run(program(f"head -c {LARGEST_OUTPUT} /dev/zero; echo end >&2"))
    assert (ending.problem, len(ending.stdout), ending.output[-4:]) == ("", LARGEST_OUTPUT, "end\n")


def test_errors_without_end_are_no_matter(supervisor: Supervisor, program: Make) -> None:
    ending = supervisor.run(program("head -c 20000000 /dev/zero >&2; printf '\\377last' >&2"))
    assert (ending.exit, ending.stdout, len(ending.output), ending.output[-5:]) == (0, b"", 4096, "�last")


def test_pinning_is_for_the_program_alone(supervisor: Supervisor, program: Make) -> None:
    cpu = max(os.sched_getaffinity(0))
    show = "import os; print(sorted(os.sched_getaffinity(0)))"
    assert supervisor.run(program(python=show, cpus=(cpu,))).stdout == f"[{cpu}]\n".encode()
    assert supervisor.run(program(python=show)).stdout == f"{sorted(os.sched_getaffinity(0))}\n".encode()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("no-such-program",), "no program 'no-such-program' on PATH; install it"),
        (("here.sh",), r"on PATH; write './here.sh'"),
        (("./missing.sh",), "is not a file; correct the command, or build it first"),
        (("./here.sh",), r"may not be executed; chmod \+x"),
        (("./text",), "Exec format error; start a script with a line such as #!/bin/sh"),
        (("./lost",), "No such file or directory; .*interpreter"),
        (("true", "x" * 3_000_000), "Argument list too long"),
        (("true", "a\0b"), "Invalid argument; .*character"),
    ],
)
def test_what_cannot_be_started(
    supervisor: Supervisor, program: Make, tmp_path: Path, argv: tuple[str, ...], words: str
) -> None:
    (tmp_path / "here.sh").write_text("#!/bin/sh\n")
    for name, text in {"text": "true", "lost": "#!/no/such/interpreter\n"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    with pytest.raises(InputError, match=words):
        supervisor.run(program(argv=argv))
    assert supervisor.run(program("echo still")).stdout == b"still\n"


def test_a_server_is_neither_counted_nor_killed_with_the_command(
    supervisor: Supervisor, program: Make, all_gone: Callable[[str], bool], lives: Callable[[str], bool]
) -> None:
    mark = f"34{time.time_ns()}"
    burn = "import os, time, subprocess, sys\nx = bytearray(60 << 20)\n"
    burn += f"subprocess.Popen(['setsid', 'sleep', '{mark}'])\nprint('up', flush=True)\nwhile True: pass"
    supervisor.start(program(python=burn), "up")
    while not supervisor.look(0.01).line_seen:
        pass
    ending = supervisor.run(program(f"sleep 0.2; setsid sleep {mark}1 &"))
    assert ending.user < 0.1
    assert ending.peak < 40 << 20
    assert all_gone(f"{mark}1")
    assert lives(mark)
    assert supervisor.look(0.0).exit is None
    assert supervisor.clear() is None
    assert all_gone(mark)


def test_a_server_is_asked_to_stop_first(supervisor: Supervisor, program: Make, tmp_path: Path) -> None:
    supervisor.start(program("trap 'echo bye > said; exit 0' TERM; echo up; while :; do sleep 0.05; done"), "up")
    while not supervisor.look(0.01).line_seen:
        pass
    supervisor.clear()
    assert (tmp_path / "said").read_text() == "bye\n"


def test_a_server_that_ended_is_told(supervisor: Supervisor, program: Make) -> None:
    supervisor.start(program("echo sorry; exit 7"), None)
    while supervisor.look(0.01).exit is None:
        pass
    ended = supervisor.clear()
    assert ended is not None
    assert (ended.exit, ended.output) == (7, "sorry\n")
    assert supervisor.clear() is None


def test_a_line_is_found_across_two_writes(supervisor: Supervisor, program: Make) -> None:
    supervisor.start(program("printf 'now liste'; sleep 0.1; printf ning; sleep 20"), "listening")
    deadline = time.monotonic() + 60
    while not supervisor.look(0.01).line_seen:
        assert time.monotonic() < deadline


def test_prepare_may_leave_a_process_until_the_end(
    supervisor: Supervisor, program: Make, all_gone: Callable[[str], bool], lives: Callable[[str], bool]
) -> None:
    mark = f"35{time.time_ns()}"
    supervisor.run_aside(program(f"sleep {mark} &"))
    supervisor.run(program("true"))
    assert lives(mark)
    supervisor.clear()
    assert all_gone(mark)


def test_closing_ends_a_server(supervisor: Supervisor, program: Make, all_gone: Callable[[str], bool]) -> None:
    mark = f"36{time.time_ns()}"
    supervisor.start(program(f"setsid sleep {mark} & sleep {mark}"), None)
    supervisor.close()
    assert all_gone(mark)
    supervisor.close()
    with pytest.raises(MeasurementError, match="has ended"):
        supervisor.run(program("true"))


PARENT = "os.getppid()"
GRANDPARENT = "int(open(f'/proc/{os.getppid()}/stat').read().rpartition(')')[2].split()[1])"


@pytest.mark.parametrize(
    "attack",
    [
        f"os.kill({PARENT}, 9)",
        f"os.kill({PARENT}, 19)",
        f"os.kill({GRANDPARENT}, 9)",
        f"g = {GRANDPARENT}; os.kill({PARENT}, 19); os.kill(g, 9)",
        f"g = {GRANDPARENT}; os.kill({PARENT}, 9); os.kill(g, 9)",
        f"os.kill({GRANDPARENT}, 9); os.kill({PARENT}, 19)",
        f"os.killpg(os.getpgid({PARENT}), 9)",
        f"os.killpg(os.getpgid({GRANDPARENT}), 9)",
    ],
)
def test_who_attacks_what_watches_over_it_is_ended_and_the_next_is_run(
    supervisor: Supervisor, program: Make, all_gone: Callable[[str], bool], attack: str
) -> None:
    mark = f"38{time.time_ns()}"
    left = f"import os, subprocess, time; subprocess.Popen(['sleep', '{mark}'])\n{attack}\ntime.sleep(3)"
    with pytest.raises(RunFailure, match="was killed or stopped") as lost:
        supervisor.run(program(python=left))
    assert lost.value.outcome is Outcome.FAILED
    assert not isinstance(lost.value.__cause__, TimeoutError)
    assert all_gone(mark)
    assert supervisor.run(program("echo still")).stdout == b"still\n"


@pytest.mark.parametrize("asked", [PARENT, GRANDPARENT])
def test_ctrl_c_for_what_watches_ends_the_command_in_silence(
    program: Make, capfd: pytest.CaptureFixture[str], asked: str
) -> None:
    supervisor = Supervisor()
    with pytest.raises(RunFailure, match="was killed or stopped"):
        supervisor.run(program(python=f"import os, time; os.kill({asked}, 2); time.sleep(3)"))
    supervisor.close()
    assert capfd.readouterr().err == ""


def test_who_stops_the_second_process_that_watches_changes_nothing(supervisor: Supervisor, program: Make) -> None:
    assert supervisor.run(program(python=f"import os; os.kill({GRANDPARENT}, 19)")).exit == 0
    assert supervisor.run(program("echo still")).stdout == b"still\n"


def test_when_both_are_stopped_a_deadline_ends_them(
    supervisor: Supervisor, program: Make, all_gone: Callable[[str], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_SLACK", 1.0)
    mark = f"39{time.time_ns()}"
    attack = f"import os, subprocess, time; subprocess.Popen(['sleep', '{mark}']); g = {GRANDPARENT}\n"
    attack += f"os.kill(g, 19); os.kill({PARENT}, 19); time.sleep(20)"
    with pytest.raises(RunFailure, match="was killed or stopped"):
        supervisor.run(program(python=attack, timeout=0.2))
    assert all_gone(mark)
    assert supervisor.run(program("echo still")).stdout == b"still\n"


def test_what_watches_and_never_starts_is_no_failure_of_the_command(
    supervisor: Supervisor, program: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_START", "raise SystemExit({folder!r})")
    with pytest.raises(MeasurementError, match="ends by itself"):
        supervisor.run(program(python=f"import os; os.kill({PARENT}, 9)"))


def test_contention_is_counted_while_a_program_runs(supervisor: Supervisor, program: Make) -> None:
    ending = supervisor.run(program("sleep 0.05"))
    for counted, path in ((ending.pressure, "/proc/pressure/cpu"), (ending.steal, "/proc/stat")):
        assert counted is None or (Path(path).exists() and counted >= 0.0)
    supervisor.start(program("echo up; sleep 20"), "up")
    assert supervisor.run(program("true")).pressure is None


def test_what_the_kernel_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervised, "_PRESSURE", str(tmp_path / "cpu"))
    monkeypatch.setattr(supervised, "_STATISTICS", str(tmp_path / "stat"))
    assert supervised.Contention(()).since() == {"pressure": None, "steal": None}
    (tmp_path / "cpu").write_text("some avg10=1.00 avg60=1.00 avg300=1.00 total=2500000\nfull avg10=0.00 total=7\n")
    (tmp_path / "stat").write_text(
        "cpu  1 2 3 4 5 6 7 400 0 0\ncpu0 1 2 3 4 5 6 7 100 0 0\ncpu1 1 2 3 4 5 6 7 300 0 0\nintr 1\n"
    )
    ticks = os.sysconf("SC_CLK_TCK")
    assert supervised.pressure() == 2.5
    assert [supervised.steal(cpus) * ticks for cpus in ((), (1,), (0, 1))] == [200, 300, 200]


def test_elsewhere_than_on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(MeasurementError, match="needs Linux"):
        Supervisor()


def ended(pid: int) -> bool:
    """Whether a process is gone, or is a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_process_is_killed_with_its_group() -> None:
    command = ["sh", "-c", "sleep 60 & echo $!; wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as leader:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())
        kill(leader.pid)
    deadline = time.monotonic() + 60
    while not ended(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended(child)


def test_the_own_group_is_spared() -> None:
    with subprocess.Popen(["sleep", "60"]) as alone:
        kill(alone.pid)
    assert alone.returncode == -9
