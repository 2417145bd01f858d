"""How the bytes of a file reach the reader of its format."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path

from hati.core import InputError, Place, SampleFormat
from hati.subject.samples import (
    google_benchmark,
    hati,
    hyperfine,
    jmh,
    pyperf,
    pytest_benchmark,
)
from hati.subject.samples.action import PREFIX, read_action_custom, read_action_data
from hati.subject.samples.asv import read_asv
from hati.subject.samples.bencher import read_bencher
from hati.subject.samples.book import Book
from hati.subject.samples.catch2 import read_catch2
from hati.subject.samples.criterion import read_criterion
from hati.subject.samples.document import read_document, read_whole
from hati.subject.samples.dotnet import STREAMED as DOTNET_STREAMED
from hati.subject.samples.dotnet import read_dotnet
from hati.subject.samples.go import read_go
from hati.subject.samples.node import Node
from hati.subject.samples.source import Source, opened
from hati.subject.samples.table import read_table

Read = Callable[[Source, Book], None]

_STRINGS_AND_NANS = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)')
_ABOUT_ASV = "benchmarks.json"
_SAMPLE, _BENCHMARK = "sample.json", "benchmark.json"


def _streamed(read: Callable[[Iterator[Node], Book], None], keys: tuple[str, ...]) -> Read:
    return lambda source, book: read(read_document(source.stream, source.file, keys), book)


def _whole(read: Callable[[Node, Book], None]) -> Read:
    return lambda source, book: read(read_whole(source.stream, source.file), book)


def _asv(source: Source, book: Book) -> None:
    """Asv writes NaN for what was not measured, which JSON has not; of benchmarks it tells in a file a folder above."""
    data = _STRINGS_AND_NANS.sub(lambda found: found[0] if found[0][:1] == b'"' else b"null", source.stream.read())
    whole, about = read_whole(BytesIO(data), source.file), Path(source.file).absolute().parent.parent / _ABOUT_ASV
    if not about.is_file():
        read_asv(whole, None, book)
        return
    with opened(about) as beside:
        read_asv(whole, read_whole(beside.stream, beside.file), book)


def _action(source: Source, book: Book) -> None:
    """A script that sets a variable to a document, or a list: the script's own words are made blanks."""
    if not source.head.lstrip().startswith(PREFIX):
        whole = read_whole(source.stream, source.file)
        (read_action_custom if isinstance(whole.value, list | array) else read_action_data)(whole, book)
        return
    data = source.stream.read()
    start = data.find(b"{")
    if start < 0:
        raise InputError("there is no data in this script", place=Place(source.file, 1))
    blank = re.sub(rb"[^\n]", b" ", data[:start])
    read_action_data(read_whole(BytesIO(blank + data[start:].rstrip().removesuffix(b";")), source.file), book)


def _catch2(source: Source, book: Book) -> None:
    data = source.stream.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"byte 0x{data[error.start]:02x} is not UTF-8", place=Place(source.file, line)) from None
    read_catch2(text, source.file, book)


def _criterion(source: Source, book: Book) -> None:
    """One of the files of a benchmark; the other stands beside."""
    folder = Path(source.file).parent
    named = read_whole(source.stream, source.file)
    if "full_id" in named:
        with opened(folder / _SAMPLE) as beside:
            read_criterion(read_whole(beside.stream, beside.file), named, "", book)
    elif (folder / _BENCHMARK).is_file():
        with opened(folder / _BENCHMARK) as beside:
            read_criterion(named, read_whole(beside.stream, beside.file), "", book)
    else:
        read_criterion(named, None, folder.name, book)


def criterion_files(folder: Path) -> tuple[Path, ...]:
    """The ``sample.json`` of the latest measurement of every benchmark below a folder of criterion.rs.

    Raises:
        InputError: where there is none.
    """
    found = tuple(sorted(folder.glob(f"**/new/{_SAMPLE}"))) or tuple(sorted(folder.glob(f"**/{_SAMPLE}")))
    if not found:
        raise InputError(
            "this folder holds no results of criterion.rs",
            place=Place(str(folder)),
            fix="give its target/criterion, or a file",
        )
    return found


READERS: Mapping[SampleFormat, Read] = {
    SampleFormat.HATI: _streamed(hati.read_hati, hati.STREAMED),
    SampleFormat.HYPERFINE: _streamed(hyperfine.read_hyperfine, hyperfine.STREAMED),
    SampleFormat.JMH: _streamed(jmh.read_jmh, jmh.STREAMED),
    SampleFormat.PYPERF: _streamed(pyperf.read_pyperf, pyperf.STREAMED),
    SampleFormat.PYTEST_BENCHMARK: _streamed(pytest_benchmark.read_pytest_benchmark, pytest_benchmark.STREAMED),
    SampleFormat.GOOGLE_BENCHMARK: _streamed(google_benchmark.read_google_benchmark, google_benchmark.STREAMED),
    SampleFormat.GO: lambda source, book: read_go(source.lines(), source.file, book),
    SampleFormat.CSV: lambda source, book: read_table(source.lines(), source.file, book),
    SampleFormat.CRITERION: _criterion,
    SampleFormat.ASV: _asv,
    SampleFormat.GITHUB_ACTION: _action,
    SampleFormat.BENCHER: _whole(read_bencher),
    SampleFormat.BENCHMARK_DOTNET: _streamed(read_dotnet, DOTNET_STREAMED),
    SampleFormat.CATCH2: _catch2,
}
