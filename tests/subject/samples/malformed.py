"""Files that are no measurements, each with what its error has to say and where."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"


@dataclass(frozen=True)
class Malformed:
    """A file's name and bytes, and a part of its error: the place after the file's name, and the reason."""

    name: str
    data: bytes
    place: str
    reason: str


def own(old: str = "", new: str = "") -> bytes:
    """A file of Hati's own format, with something in it replaced."""
    run = {"started": "2026-11-20T10:00:00Z", "warmup": 1, "observations": [3.5, 2.5, 2.25]}
    sample = {"benchmark": "b", "metric": "latency", "unit": "s", "better": "lower", "runs": [run, run]}
    text = json.dumps({"format": "hati-samples-1", "samples": [sample]}, indent=1)
    assert old in text
    return text.replace(old, new, 1).encode()


def fixture(name: str, old: str, new: str) -> bytes:
    """A tool's file, with something in it replaced."""
    text = (FIXTURES / name).read_text()
    assert old in text, old
    return text.replace(old, new, 1).encode()


def cut(name: str, share: float) -> bytes:
    data = (FIXTURES / name).read_bytes()
    return data[: int(len(data) * share)]


VALUES = " at samples[0].runs[0].observations"
MALFORMED = (
    Malformed("empty.json", b"", ":1", "empty"),
    Malformed("blank.json", b" \n\n ", ":1", "empty"),
    Malformed("binary", bytes(range(256)) * 9, ":1", "not known"),
    Malformed("elf", b"\x7fELF\x02\x01\x01" + bytes(100), ":1", "not known"),
    Malformed("packed.json.gz", b"\x1f\x8b\x08\x00garbage", "", "unpacked"),
    Malformed("prose.txt", b"these are no measurements\n", ":1", "--from"),
    Malformed("truncated.json", own()[:200], ":12:", "is the file whole?"),
    Malformed("half.json", own()[:-3], ":", "is the file whole?"),
    Malformed("twice.json", own() + own(), ":", "trailing garbage"),
    Malformed("comma.json", own("2.5,", "2.5,,"), ":15:", "not JSON"),
    Malformed("surrogate.json", own().replace(b'"latency"', b'"lat\xed\xa0\x80ency"'), ":", "is not valid UTF-8"),
    Malformed("quotes.json", own('"warmup"', "'warmup'"), ":12:", "not JSON"),
    Malformed("nan.json", own("2.5", "NaN"), ":15:", "are not numbers of JSON; leave out what was not measured\n"),
    Malformed("infinity.json", own("2.5", "Infinity"), ":15:", "Infinity"),
    Malformed("overflow.json", own("2.5", "1e999"), ":15:", "too large"),
    Malformed("huge.json", own("2.5", "1e200"), VALUES, "beyond 1e+100"),
    Malformed("long.json", own("2.5", "9" * 400), ":15:", "too large"),
    Malformed("text.json", own("2.5", '"2.5"'), f"{VALUES}[1]", "number is needed"),
    Malformed("null.json", own("2.5", "null"), f"{VALUES}[1]", "number is needed"),
    Malformed("boolean.json", own("2.5", "true"), f"{VALUES}[1]", "number is needed"),
    Malformed("nested.json", own("2.5", "[2.5]"), f"{VALUES}[1]", "number is needed"),
    Malformed("negative.json", own("2.5", "-2.5"), " at samples[0].runs[0]", "no time is negative"),
    Malformed("deep.json", own("2.5", "[" * 100_000), " at samples[0].runs", "deep"),
    Malformed("warmup.json", own('"warmup": 1', '"warmup": 3'), VALUES, "none is left"),
    Malformed("fraction.json", own('"warmup": 1', '"warmup": 0.5'), " at samples[0].runs[0].warmup", "whole number"),
    Malformed("below.json", own('"warmup": 1', '"warmup": -1'), " at samples[0].runs[0].warmup", "count"),
    Malformed("unit.json", own('"s"', "5"), " at samples[0].unit", "text is needed"),
    Malformed("better.json", own('"lower"', '"up"'), " at samples[0].better", "'higher'"),
    Malformed("name.json", own('"benchmark": "b",', ""), " at samples[0]", "'benchmark'"),
    Malformed("version.json", own("hati-samples-1", "hati-samples-9"), " at format", "hati-samples-1"),
    Malformed("moment.json", own("2026-11", "2026-99"), " at samples[0].runs[0].started", "moment"),
    Malformed("doubled.json", own('"unit": "s"', '"metric": "x"'), " at samples[0]", "twice"),
    Malformed("none.json", b'{"format": "hati-samples-1", "samples": []}', ":1", "nothing measured"),
    Malformed(
        "runs.json", b'{"samples": [{"benchmark": "b", "metric": "m", "runs": []}]}', " at samples[0].runs", "no runs"
    ),
    Malformed("latin.json", own('"b"', '"\xe9"').decode().encode("latin-1"), ":", "UTF-8"),
    Malformed("utf16.json", own().decode().encode("utf-16"), ":1", "not known"),
    Malformed(
        "mixed.json",
        json.dumps(
            {
                "format": "hati-samples-1",
                "samples": [
                    {"benchmark": "b", "metric": "m", "unit": unit, "runs": [{"observations": [1]}]}
                    for unit in ("s", "B")
                ],
            }
        ).encode(),
        " at samples[1].runs[0]",
        "cannot be converted",
    ),
    Malformed("hyperfine.json", cut("hyperfine.json", 0.5), ":", "is the file whole?"),
    Malformed("exits.json", fixture("hyperfine.json", "        0,\n", ""), " at results[0].exit_codes", "3 times"),
    Malformed("times.json", fixture("hyperfine.json", "0.001616812,\n        ", "-1,"), " at results[0]", "negative"),
    Malformed(
        "jmh.json", fixture("jmh.json", "4.613643100788543", '"NaN"'), " at [0].primaryMetric.rawData[0][0]", "number"
    ),
    Malformed("jmh-cut.json", cut("jmh.json", 0.7), ":", "is the file whole?"),
    Malformed(
        "pyperf.json", fixture("pyperf.json", '"values":[', '"values":["x",'), " at benchmarks[0].runs", "number"
    ),
    Malformed(
        "pytest.json", fixture("pytest-benchmark.json", '"data": [', '"data": [{},'), " at benchmarks[0]", "number"
    ),
    Malformed(
        "google.json", fixture("google-benchmark.json", '"ns"', '"s"'), " at benchmarks[1]", "earlier repetition"
    ),
    Malformed("rows.json", b'{"context": {"rows": 1000000000}, "benchmarks": []}', ":1", "nothing measured"),
    Malformed("hati.toml", b'[subject]\nname = "sort"\n', ":1", "this is a project, not measurements"),
    Malformed("pyproject.toml", b'# ours\n\n[project] # it\nname = "p"\n', ":1", "configuration (TOML or INI)"),
    Malformed("go.txt", b"goos: linux\nBenchmarkX-2 100 fast ns/op\n", ":2:1", "'fast'"),
    Malformed("go-nan.txt", b"goos: linux\nBenchmarkX-2 100 NaN ns/op\n", ":2:1", "finite"),
    Malformed("go-pairs.txt", b"BenchmarkX-2 100 5\n", ":1:1", "pairs"),
    Malformed("go-none.txt", b"goos: linux\nPASS\n", "", "no line of a benchmark"),
    Malformed("a.csv", b"benchmark,value\nb,1\nb\n", ":3", "cells in the row: 1"),
    Malformed("nan.csv", b"benchmark,value\nb,nan\n", ":2", "not a finite number"),
    Malformed("negative.csv", b"benchmark,value,unit\nb,-1,s\n", ":2", "no time is negative"),
    Malformed("units.csv", b"benchmark,value,unit\nb,1,s\nb,1,MB\n", ":3", "cannot be converted"),
    Malformed("column.csv", b"benchmark,time\nb,1\n", ":1", "'value'"),
    Malformed("stranger.csv", b"benchmark,value,colour\nb,1,red\n", ":1", "'colour'"),
    Malformed("number.csv", b"benchmark,value,n\nb,1,0.5\n", ":2", "'0.5' stands where the number of runs"),
    Malformed("deviation.csv", b"benchmark,value,deviation\nb,1,0.5\n", ":2", "'' stands where the number of runs"),
    Malformed("one.csv", b"benchmark,value,n,deviation\nb,1,1,0.5\n", ":2", "not a standard deviation of runs"),
    Malformed("run.csv", b"benchmark,value,run,n\nb,1,x,\nb,2,x,20\n", ":3", "of the run 'x' or a mean of runs by 'n'"),
    Malformed("mean.csv", b"benchmark,value,unit,n\nb,1,s,\nb,-1,s,20\n", ":3", "no time is negative"),
    Malformed("header.csv", b"benchmark,value\n", ":1", "no rows"),
    Malformed("quote.csv", b'benchmark,value\n"b,1\n', ":2", "not a table"),
    Malformed("latin.csv", b"benchmark,value\n\xe9,1\n", ":2:1", "UTF-8"),
    Malformed("wide.csv", b"benchmark,value\n" + b"b" * 2_000_000, ":2", "longer than"),
    Malformed("catch2.xml", cut("catch2.xml", 0.8), ":", "well-formed"),
    Malformed("value.xml", fixture("catch2.xml", '"659.987"', '"quick"'), ":", "'quick'"),
    Malformed("entity.xml", b'<!DOCTYPE a [<!ENTITY x "y">]><Catch>&x;</Catch>', ":1", ""),
    Malformed("other.xml", b"<html><body/></html>", ":1", "no benchmarks"),
    Malformed("asv.json", fixture("asv.json", '"version": 2', '"version": 1'), " at version", "asv update"),
    Malformed("asv-cells.json", fixture("asv.json", "6.644004315603524e-07, ", ""), " at results", "fewer than"),
    Malformed("data.js", b"window.BENCHMARK_DATA = \n{,}", ":2:", "not JSON"),
    Malformed("bench.json", b'[{"name": "b", "unit": "s", "value": "1"}]', " at [0].value", "number is needed"),
    Malformed("bmf.json", b'{"b": {"latency": {"value": []}}}', " at b.latency.value", "number is needed"),
    Malformed("criterion.json", b'{"iters": [1, 2], "times": [5]}', " at times", "2 of iterations"),
    Malformed("none-criterion.json", b'{"iters": [0], "times": [5]}', " at iters", "no iterations"),
    Malformed(
        "dotnet.json",
        b'{"Benchmarks": [{"FullName": "x", "Measurements": []}]}',
        " at Benchmarks[0].Measurements",
        "workload",
    ),
)
