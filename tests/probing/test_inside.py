"""Work inside of what a command reaches: the program is copied there, runs there, and is removed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hati.core import MeasurementError
from hati.probing import KernelProgram, NotPermittedError, Setting
from hati.probing import inside as probed_inside
from hati.probing.inside import copied, remove
from hati.probing.process_marks import is_abandoned, own_mark
from hati.studies.probe import ProbeVerdict, RecoveryOutcome
from hati.wiring.probes import selftest, virtual

INPUTS = {"cpu.rate": 400_000.0}
WORDS_OF_A_SHELL = ("sh", "-c", 'eval "$*"', "sh")
"""As ``ssh HOST``, which joins what follows and gives it to a shell."""


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files inside."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def work(inside: Path, monkeypatch: pytest.MonkeyPatch) -> KernelProgram:
    """A program in place of the kernels: a repetition takes 2 ns a unit, and 1 % more in every second burst."""
    program = inside / "program"
    program.write_text(
        f"#!/bin/sh\necho >> {inside}/bursts\nn=$(wc -l < {inside}/bursts)\nt=$((2 * $3 + n % 2 * $3 / 50))\n"
        'echo "work_wall_ns: $t $t"\necho "work_cpu_ns: $t $t"\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(virtual, "_portable", lambda program: program)
    return KernelProgram.at(program)


@pytest.mark.parametrize("prefix", [("nice",), ("env", "-C", "/"), WORDS_OF_A_SHELL])
def test_the_program_is_copied_runs_and_is_removed(inside: Path, work: KernelProgram, prefix: tuple[str, ...]) -> None:
    moved = copied(work, prefix)
    assert moved.path.parent.parent == inside
    assert moved.path.read_bytes() == work.path.read_bytes()
    assert moved.run("work", 1, 500, prefix=prefix)["work_cpu_ns"].tolist() == [1010.0, 1010.0]
    remove(moved, prefix)
    assert not moved.path.parent.exists()
    remove(moved, prefix)


def test_a_folder_for_temporary_files_that_is_only_outside_is_not_used(
    work: KernelProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/no/such/folder")
    moved = copied(work, ("nice",))
    assert moved.path.parent.parent == Path("/tmp")
    remove(moved, ("nice",))
    assert not moved.path.parent.exists()


@pytest.mark.parametrize("name", ["a folder", "with-a-slash/"])
def test_any_folder_for_temporary_files_will_do(
    inside: Path, work: KernelProgram, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (inside / name).mkdir()
    monkeypatch.setenv("TMPDIR", f"{inside}/{name}")
    moved = copied(work, ("nice",))
    remove(moved, ("nice",))
    assert not moved.path.parent.exists()


def test_what_a_killed_process_left_is_removed_at_the_next_start(inside: Path, work: KernelProgram) -> None:
    program = "import sys; from pathlib import Path; from hati.probing import KernelProgram; "
    program += "from hati.probing.inside import copied; copied(KernelProgram.at(Path(sys.argv[1])), ('nice',)); "
    program += "print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(work.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        (theirs,) = inside.glob("hati-probe-*")
        remove(copied(work, ("nice",)), ("nice",))
        assert theirs.exists(), "the process that made it still runs"
        other.kill()
        other.wait()
    (inside / "hati-probe-unmarked").mkdir()
    (inside / "hati-probe-elsewhere").mkdir()
    (inside / "hati-probe-elsewhere" / "owner").write_text("other/1 2 3 4\n")
    moved = copied(work, WORDS_OF_A_SHELL)
    assert moved.path.exists()
    assert not theirs.exists()
    assert (inside / "hati-probe-unmarked").exists()
    assert (inside / "hati-probe-elsewhere").exists()


@pytest.mark.parametrize(
    ("change", "abandoned"), [((0, 0), False), ((2, 1), True), ((1, 1), True), ((3, 1), True), ((0, 1), False)]
)
def test_a_mark_is_abandoned_if_its_process_on_this_machine_has_ended(change: tuple[int, int], abandoned: bool) -> None:
    part, by = change
    words = own_mark().split(" ")
    words[part] = str(int(words[part]) + 10**7) if words[part].isdecimal() and by else words[part] + "x" * by
    assert is_abandoned(" ".join(words)) is abandoned
    assert not is_abandoned("no mark")


def test_what_cannot_be_copied_leaves_no_folder(inside: Path, work: KernelProgram) -> None:
    (inside / "bin").mkdir()
    (inside / "bin" / "chmod").write_text("#!/bin/sh\nexit 1\n")
    (inside / "bin" / "chmod").chmod(0o755)
    with pytest.raises(MeasurementError):
        copied(work, ("sh", "-c", f'PATH={inside}/bin:$PATH exec "$@"', "sh"))
    assert not list(inside.glob("hati-probe-*"))


@pytest.mark.parametrize(
    ("prefix", "reason"),
    [
        (("true",), r"`true sh` does not do what it reads; .*docker exec -i NAME"),
        (("sh", "-c", "echo no such container >&2; exit 1"), r"no such container; see whether `.* true` works"),
        (("yes",), "`yes sh` prints more than 1 MiB; it has to pass"),
        (("sh", "-c", "yes >&2"), "prints more than 1 MiB; it has to pass"),
        (("head", "-c", "100", "/dev/urandom"), "does not work|does not do what it reads"),
        (("printf", r"\377\376", "--"), "does not do what it reads"),
        (("sh", "-c", r"printf '\377\376' >&2; exit 3"), "does not work: \ufffd\ufffd; see whether"),
        (("sh", "-c", "exit 3"), "does not work: exit status 3; see whether"),
        (("sh", "-c", "echo base64: No space left on device >&2; exit 1"), "on device; free some space inside in its"),
        (("/nosuch",), "`/nosuch` cannot be started: No such file or directory"),
    ],
)
def test_a_command_that_reaches_nothing_is_named(work: KernelProgram, prefix: tuple[str, ...], reason: str) -> None:
    with pytest.raises(MeasurementError, match=reason):
        copied(work, prefix)


@pytest.mark.parametrize(
    "script", ["exec sleep 100", "sleep 2 & wait", "trap '' TERM; while :; do echo; sleep 0.01; done"]
)
def test_a_command_that_does_not_end_is_killed_at_the_limit_of_time(
    work: KernelProgram, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(probed_inside, "_LONGEST", 0.1)
    with pytest.raises(MeasurementError, match=r"takes longer than 0\.1 s"):
        copied(work, ("sh", "-c", script))


def test_a_program_that_prints_no_measurement_is_refused(inside: Path, work: KernelProgram) -> None:
    work.path.write_text("#!/bin/sh\nprintf 'work_wall_ns: \\377\\n'\n")
    with pytest.raises(MeasurementError, match="the kernel work prints what it does not measure"):
        virtual.inside_experiment(("nice",)).executed(Setting(work, inside), INPUTS)


def test_pairs_are_in_random_order_and_nothing_is_left(inside: Path, work: KernelProgram) -> None:
    experiment = virtual.inside_experiment(("nice",))
    raw = experiment.executed(Setting(work, inside, 2.0), INPUTS).raw
    assert sorted(raw["first"]) == [0.0] * 8 + [1.0] * 8
    assert {f"{side}_{clock}_ns/15" for side in ("inside", "outside") for clock in ("wall", "cpu")} < set(raw)
    assert not list(inside.glob("hati-probe-*"))
    slowdown, used = experiment.declared.detect(raw | {"others": np.zeros(1)}, INPUTS)
    assert {slowdown.verdict, used.verdict} == {ProbeVerdict.MEASURED}
    assert slowdown.value == pytest.approx(1.0, rel=0.011)


def test_nothing_is_left_where_the_work_fails(inside: Path, work: KernelProgram) -> None:
    work.path.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    with pytest.raises(MeasurementError, match="broken"):
        virtual.inside_experiment(("nice",)).executed(Setting(work, inside), INPUTS)
    assert not list(inside.glob("hati-probe-*"))


def test_the_program_needs_no_library_inside_where_it_can_be_compiled_so(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = KernelProgram()
    monkeypatch.setenv("XDG_CACHE_HOME", str(inside / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda _: inside / "cache")
    assert virtual._portable(usual).path != usual.path
    monkeypatch.setattr(virtual, "KernelProgram", refused)
    assert virtual._portable(usual).path == usual.path


def refused(*_: object, **__: object) -> None:
    raise MeasurementError("cannot find -lc")


@pytest.mark.parametrize("permitted", [True, False])
def test_the_selftest_injects_more_work_with_and_without_a_group_of_its_own(
    work: KernelProgram, monkeypatch: pytest.MonkeyPatch, permitted: bool
) -> None:
    def refusing(_: object) -> None:
        raise NotPermittedError("no group")

    if not permitted:
        monkeypatch.setattr(selftest, "group_with", refusing)
    [(name, test)] = selftest._factor(work)
    (found,) = test()
    assert name == "work of a factor of 1.067 inside"
    assert found.outcome is not RecoveryOutcome.REFUSED
    assert found.detected == pytest.approx(1.067, rel=0.011)
