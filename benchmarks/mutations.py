"""``python -m benchmarks.mutations``: how Hati handles input that is almost right.

Files of six kinds are mutated: a project, a feature model, a table (CSV), samples (JSON), formulas, and the output of
other tools' benchmarks. Each is given to the commands that read it. A try is wrong if the command ends with an internal
fault (70), shows a traceback, ends with 1 without a verdict that says so, or takes more than ten seconds.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.markdown import table
from hati.cli import main as hati

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "subject" / "samples" / "fixtures"
TRIES = 2000
SLOWEST = 10.0
"""Seconds."""
_FAULT = 70
_VERDICTS = ("slower", "VIOLATED")
_TOKENS = (
    *(
        "",
        "0",
        "-1",
        "1e999",
        "NaN",
        "Infinity",
        "null",
        "true",
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "\\",
        ",",
        "=",
        "<",
        "&",
    ),
    *("\0", "\x1b[31m", "\N{COMBINING ACUTE ACCENT}", "\ud800", "\n", "\r\n", "\t", "9" * 400, "(" * 300, "a" * 5000),
)
FEATURE_MODEL = """\
<vm name="shop"><binaryOptions>
<configurationOption><name>root</name><parent></parent><optional>False</optional></configurationOption>
<configurationOption><name>cache</name><parent>root</parent><optional>True</optional></configurationOption>
<configurationOption><name>disk</name><parent>root</parent><optional>False</optional>
<excludedOptions><options>memory</options></excludedOptions></configurationOption>
<configurationOption><name>memory</name><parent>root</parent><optional>False</optional>
<excludedOptions><options>disk</options></excludedOptions></configurationOption>
</binaryOptions><numericOptions>
<configurationOption><name>size</name><parent>cache</parent><minValue>1</minValue><maxValue>8</maxValue>
<stepFunction>n * 2</stepFunction></configurationOption>
</numericOptions><booleanConstraints><constraint>cache | disk</constraint></booleanConstraints></vm>
"""
SAMPLES = json.dumps(
    {
        "format": "hati-samples-1",
        "samples": [
            {
                "benchmark": name,
                "metric": "latency",
                "unit": "ms",
                "better": "lower",
                "runs": [{"observations": [1.0 + 0.01 * run, 1.02, 0.99], "warmup": 0} for run in range(6)],
            }
            for name in ("a", "b")
        ],
    }
)
FORMULAS = """\
alias old = a
constant sizes = {1, 2..4}
"never slow": for all n in sizes: old <= n * 2 ms & p99(b) <= 5 ms
b <=(x: 1.05 * x, id) a within 3%
!(a < b) | exists n in sizes: n > 3
"""


def table_of_runs(rng: random.Random) -> str:
    rows = [f"r{place},{'on' if place % 2 else 'off'},{place % 3},{10 + rng.random():.4f}" for place in range(24)]
    return "\n".join(["revision,cache,size,latency (ms)", *rows]) + "\n"


@dataclass(frozen=True)
class Kind:
    """A kind of input: the files of a try, of which the first is mutated, and the commands that read it."""

    name: str
    files: Callable[[random.Random], dict[str, str]]
    commands: tuple[tuple[str, ...], ...]


def one(name: str, text: str) -> Callable[[random.Random], dict[str, str]]:
    return lambda _: {name: text}


def project(rng: random.Random) -> dict[str, str]:
    folder = ROOT / "examples" / rng.choice(("sqlite", "nginx", "postgresql", "sorting"))
    others = {path.name: path.read_text() for path in folder.glob("*.j2")}
    return {"hati.toml": (folder / "hati.toml").read_text(), **others}


def tool_output(rng: random.Random) -> dict[str, str]:
    file = rng.choice(sorted(path for path in FIXTURES.iterdir() if path.suffix in {".json", ".txt", ".xml", ".js"}))
    return {file.name: file.read_text()}


KINDS = (
    Kind("project", project, (("space", "count", "."), ("run", "--dry-run", "--budget", "4"))),
    Kind("feature model", one("FeatureModel.xml", FEATURE_MODEL), (("space", "import", "FeatureModel.xml"),)),
    Kind(
        "table",
        lambda rng: {"table.csv": table_of_runs(rng)},
        (
            ("history", "table.csv", "--metric", "latency (ms)"),
            ("space", "import", "table.csv", "--metric", "latency (ms)"),
        ),
    ),
    Kind(
        "samples",
        lambda _: {"samples.json": SAMPLES, "whole.json": SAMPLES},
        (("compare", "whole.json", "samples.json"), ("audit", "samples.json"), ("harness", "steady", "samples.json")),
    ),
    Kind(
        "formulas",
        lambda _: {"formulas.spl": FORMULAS, "samples.json": SAMPLES},
        (("assert", "formulas.spl", "--samples", "a=samples.json#a", "--samples", "b=samples.json#b"),),
    ),
    Kind("tool output", tool_output, (("import", "{}"), ("compare", "{}", "{}"))),
)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The data with one to four changes: bytes, tokens, lines."""
    for _ in range(rng.randint(1, 4)):
        data = rng.choice((_flip, _cut, _repeat, _insert, _swap_lines, _truncate))(data, rng)
    return data


def _span(data: bytes, rng: random.Random, longest: int = 40) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randint(1, longest))


def _flip(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(max(1, len(data)))
    return data[:start] + bytes([rng.randrange(256)]) + data[start + 1 :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[end:]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start, end = _span(data, rng)
    return data[:end] + data[start:end] * rng.randint(1, 5) + data[end:]


def _insert(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + rng.choice(_TOKENS).encode("utf-8", "surrogatepass") + data[start:]


def _swap_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    first, second = (rng.randrange(len(lines)) for _ in range(2))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


@dataclass
class Tried:
    """The outcomes of the tries of a kind: counts of exit statuses, and what was wrong."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def tried(kind: Kind, seeds: Sequence[int]) -> Tried:
    """Try a kind with mutations of these seeds."""
    found = Tried()
    for seed in seeds:
        for words, status, said, seconds in outcomes(kind, seed):
            found.statuses[status] += 1
            why = _wrong(status, said, seconds)
            if why:
                found.wrong.append(f"{kind.name}, seed {seed}: hati {' '.join(words)}: {why}: {said[-300:]!r}")
    return found


def outcomes(kind: Kind, seed: int) -> Iterator[tuple[tuple[str, ...], int, str, float]]:
    rng = random.Random(f"{kind.name} {seed}")
    files = kind.files(rng)
    name = next(iter(files))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for other, text in files.items():
            Path(other).write_text(text)
        Path(name).write_bytes(mutated(files[name].encode(), rng))
        for command in kind.commands:
            words = tuple(name if word == "{}" else word for word in command)
            began = time.perf_counter()
            status, said = ended(words)
            yield words, status, said, time.perf_counter() - began


class HangingError(BaseException):
    """A command that takes too long; none of Hati's handlers may catch it."""


def _give_up(_number: int, _frame: object) -> None:
    raise HangingError


def ended(words: tuple[str, ...]) -> tuple[int, str]:
    """Run a command in this process; return its exit status, a fault if it does not end in time, and its output."""
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace")
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, 3.0 * SLOWEST)
    with redirect_stdout(said), redirect_stderr(said):
        try:
            status = hati(words)
        except HangingError:
            status = _FAULT
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    said.flush()
    buffer = said.detach()
    buffer.seek(0)
    return status, buffer.read().decode("utf-8", "replace")


def _wrong(status: int, said: str, seconds: float) -> str:
    if status == _FAULT or "Traceback (most recent call last)" in said:
        return "a fault"
    if status == 1 and not any(verdict in said for verdict in _VERDICTS):
        return "status 1 without a verdict"
    return f"{seconds:.1f} s" if seconds > SLOWEST else ""


def result(tries: int = TRIES) -> tuple[str, bool]:
    """The table, and whether nothing was wrong; ``tries`` are divided among the kinds."""
    each = -(-tries // len(KINDS))
    found = {kind.name: tried(kind, range(1, each + 1)) for kind in KINDS}
    rows = [
        [name, str(each), *(str(one.statuses[status]) for status in (0, 1, 2, 3, 4)), str(len(one.wrong))]
        for name, one in found.items()
    ]
    header = ["input", "mutated", *(f"status {status}" for status in (0, 1, 2, 3, 4)), "wrong"]
    note = "Wrong: status 70, a traceback, status 1 without a verdict, or more than ten seconds."
    wrong = [text for one in found.values() for text in one.wrong]
    listed = "".join(f"- {text}\n" for text in wrong[:20])
    return table("What Hati says to input that is almost right", header, rows, note) + listed, not wrong


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=TRIES)
    text, held = result(parser.parse_args(words).tries)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
