"""The program of the infrastructure experiments: what it shares with load programs, and its memory accesses."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from pathlib import Path

import pytest

import hati.generate
import hati.probing
from hati.core import HatiError, InputError, MeasurementError
from hati.driver import compile_program
from hati.generate import with_kernels
from hati.probing import KernelProgram, kernel

SOURCE = Path(hati.probing.__file__).with_name("kernels.c")
TEMPLATES = Path(hati.generate.__file__).parent / "templates"
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-Wall", "-Wextra", "-Werror")
FUNCTION = re.compile(r"^(?:static|SHARED|_Noreturn)[^;(]*?\b(\w+)\([^;]*\)\s*\{", re.MULTILINE)


def test_experiments_and_load_programs_define_no_function_twice() -> None:
    own = set(FUNCTION.findall(SOURCE.read_text()))
    generated = {name for file in TEMPLATES.iterdir() for name in FUNCTION.findall(file.read_text())}
    assert {"walk", "cycle", "pass_triad", "sleep_until"} <= generated
    assert {"spin", "chase", "disk", "net"} <= own
    assert own & generated == {"fail"}


@pytest.mark.acceptance
def test_kernels_access_only_their_own_memory(tmp_path: Path) -> None:
    program = compile_program(with_kernels(SOURCE.read_text()), tmp_path, SANITIZED)
    lines = {
        "clock 20": ("window_ns", "cost_ps", "thread_cost_ps", "step_ns"),
        "spin 20000000 -1 other 2 1000 100": ("window_ns", "gap_start_ns", "gap_ns") * 2,
        "work 20000000 1000 other 0": ("work_wall_ns", "work_cpu_ns"),
        "spin 20000000 -1 other/nice5 3 1000 100": ("window_ns", "gap_start_ns", "gap_ns") * 3,
        "wide 20000000 1000 other 0": ("work_wall_ns", "work_cpu_ns"),
        "steps 2 1000000 10000000 1000 0 3000000 80": ("work_start_ns", "work_cpu_ns") * 2,
        "wake 20 100000 0 1": ("late_ns", "window_ns"),
        "switch 5 20 0": ("trip_ns", "own_ns", "hands", "all_hands", "switches", "window_ns"),
        "spread 2 1000000 0": ("spread_ns",),
        "chase 1000 3 0 0 64 4096 20480": ("size_bytes", "load_ps") * 3,
        "chase 1000 3 4096 0 1024 40960": ("size_bytes", "load_ps") * 2,
        "triad 40960 2 0": ("moved_bytes", "triad_ns"),
        f"disk {tmp_path / 'file'} 1 3 3": ("durable_ns", "append_ns", "cached_read_ns"),
        "net 127.0.0.1 - 10 20000000 5000000": ("round_trip_ns", "window_ns", "acknowledged_bytes"),
    }
    for arguments, names in lines.items():
        done = subprocess.run([program, *arguments.split()], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr.strip()) == (0, ""), arguments
        found = [line.split(":")[0] for line in done.stdout.splitlines()]
        assert [name for name in found if name != "direct_read_ns"] == list(names), arguments


def test_work_is_done_once_however_late_it_begins(tmp_path: Path) -> None:
    found = KernelProgram(tmp_path).run("work", -900_000_000, 1000, "other", 0)
    assert {name: values.size for name, values in found.items()} == {"work_wall_ns": 1, "work_cpu_ns": 1}


@pytest.mark.parametrize(("number", "kind"), [(errno.ENOSPC, MeasurementError), (errno.EACCES, InputError)])
def test_a_full_disk_of_the_cache_is_no_wrong_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[HatiError]
) -> None:
    def failing(*_: object) -> Path:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(kernel, "compile_program", failing)
    with pytest.raises(kind, match=os.strerror(number)) as error:
        KernelProgram(tmp_path)
    assert "XDG_CACHE_HOME" in (error.value.fix or "")
