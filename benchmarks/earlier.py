"""``python -m benchmarks.earlier --revision COMMIT``: what commands cost now, and at an earlier commit.

Both run interleaved with the packages that are installed here; results are medians of processor time of five rounds.
The goals are for the version now. It is not part of ``python -m benchmarks``: listing 47,000 runs can take minutes.
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.markdown import table

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
RUNS = 47_000
SETTINGS = (2, 3, 4, 5, 2, 3, 4, 5, 2, 3, 4, 2, 2)
HATI = "import sys; from hati.cli import main; sys.exit(main())"
STORING = """
import sys
from contextlib import closing
from dataclasses import replace
from hati.store import open_store
try:
    from hati.testing.conformance import MACHINE, METRICS, a_run, a_study
except ImportError:  # its name in earlier revisions
    from hati.testing.store_conformance import MACHINE, METRICS, a_run, a_study
with closing(open_store(sys.argv[1])) as store:
    store.begin(a_study(), METRICS, MACHINE)
    for repetition in range(int(sys.argv[2])):
        store.record(a_run(a_study(), repetition))
"""
PROJECT = """
[subject]
name = "s"

[[benchmark]]
name = "main"
command = ["sh", "-c", "echo t: 3"]
reader = "regex"
workload = { n = 1 }
metric = [{ name = "t", unit = "1", pattern = "t: (.)" }]
"""


@dataclass(frozen=True)
class Case:
    """A command, the preparation of its folder, and the goal for its processor time now, in seconds."""

    name: str
    words: tuple[str, ...]
    goal: float | None
    prepare: Callable[[Path, Path], object] = lambda _folder, _source: None


def thirteen_options(folder: Path, _: Path) -> None:
    """Options of two to five settings, the last of which is nested, and two constraints."""
    tables = [f"[options.o{n}]\nsettings = {list(range(size))}\n" for n, size in enumerate(SETTINGS)]
    tables[-1] += 'active_if = "o0 == 1"\n'
    constraints = '[space]\nconstraints = ["o1 == 0 or o2 >= 1", "o3 <= 3 or o4 == 0"]\n'
    (folder / "hati.toml").write_text("\n".join([*tables, constraints]))


def hipacc(folder: Path, source: Path) -> None:
    model = Path(os.environ.get("HATI_DATA", ROOT.parent / "shared" / "data")) / "configurable-systems" / "hipacc"
    run(source, ("space", "import", str(model / "FeatureModel.xml"), "--output", "hati.toml"), folder)


def many_runs(folder: Path, source: Path) -> None:
    (folder / "hati.toml").write_text(PROJECT)
    (folder / ".hati").mkdir()
    command = [sys.executable, "-c", STORING, ".hati/store.sqlite", str(RUNS)]
    subprocess.run(command, cwd=folder, env=environment(source), check=True)


def measured_formula(folder: Path, source: Path) -> None:
    (folder / "hati.toml").write_text(PROJECT)
    run(source, FORMULA, folder)


FORMULA = ("assert", "--formula", "main(1) <= 4", "--budget", "13")
CASES = (
    Case("hati --version", ("--version",), 0.15),
    Case("hati --help", ("--help",), 0.25),
    Case("assert of a stored formula", FORMULA, 0.5, measured_formula),
    Case("design: 13 options, 100 runs", ("design", ".", "--optimal", "D", "--runs", "100"), 3.0, thirteen_options),
    Case("design: hipacc, 184 runs", ("design", ".", "--optimal", "D", "--runs", "184"), 10.0, hipacc),
    Case(f"runs: {RUNS:,}", ("runs",), None, many_runs),
)


def environment(source: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}


def run(source: Path, words: Sequence[str], folder: Path) -> float:
    """The processor time of a command, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", HATI, *words]
    subprocess.run(command, cwd=folder, env=environment(source), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compared(case: Case, sources: Sequence[Path], rounds: int) -> list[float]:
    """The median processor time of each version, in seconds."""
    taken: list[list[float]] = [[] for _ in sources]
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / str(number) for number in range(len(sources))]
        for folder, source in zip(folders, sources, strict=True):
            folder.mkdir()
            case.prepare(folder, source)
        for _ in range(rounds):
            for own, folder, source in zip(taken, folders, sources, strict=True):
                own.append(run(source, case.words, folder))
    return [statistics.median(own) for own in taken]


def result(revision: str, rounds: int, wanted: Sequence[str] = ()) -> tuple[str, bool]:
    """The table, and whether the goals are met."""
    archived = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    rows, held = [], True
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archived)) as archive:
            archive.extractall(folder, filter="data")
        for case in (case for case in CASES if not wanted or any(word in case.name for word in wanted)):
            before, now = compared(case, (Path(folder) / "src", ROOT / "src"), rounds)
            met = case.goal is None or now <= case.goal
            held &= met
            goal = "" if case.goal is None else f"{'met' if met else 'MISSED'}: {case.goal:g} s"
            rows.append([case.name, f"{before:.2f}", f"{now:.2f}", f"{before / now:.1f}", goal])
    header = ["command", f"{revision}, s", "now, s", "times faster", "goal"]
    return table(f"Processor time now and at {revision}, medians of {rounds}", header, rows, ""), held


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", nargs="*", default=(), help="cases whose names have one of these words")
    options = parser.parse_args(words)
    text, held = result(options.revision, options.rounds, options.only)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
