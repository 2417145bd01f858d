"""Read samples from files: detect the format of a file by its beginning, and call the reader of the format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from pathlib import Path

from msgspec import Struct

from hati.core import InputError, Place, Sample, SampleFormat
from hati.packages import added, called, load_added, load_entry
from hati.subject.samples.building import SampleBuilder, read_whole
from hati.subject.samples.exchange import NEEDED, PREFIX, read_action, read_bencher, read_hati, read_table
from hati.subject.samples.program_tools import (
    SAMPLE_FILE,
    read_catch2,
    read_criterion,
    read_dotnet,
    read_go,
    read_google_benchmark,
    read_hyperfine,
    read_jmh,
)
from hati.subject.samples.python_tools import read_asv, read_pyperf, read_pytest_benchmark
from hati.subject.samples.source import OpenedFile, Watch, opened, unwatched

_DEEPEST = 4


class Outline(Struct, frozen=True):
    """Whether a document is a list, and the paths of its members, without the numbers of list items.

    ``results.command`` is the member ``command`` of the member ``results``, or of its items.
    """

    listed: bool
    members: frozenset[str]

    def has(self, *members: str) -> bool:
        """Whether the document has all of these members."""
        return self.members.issuperset(members)


def outline(head: bytes) -> Outline | None:
    """The outline of a document from its beginning; None if it is neither an object nor a list."""
    import ijson.backends.yajl2_c as parser
    from ijson.common import JSONError

    listed: bool | None = None
    keys: list[str | None] = []  # the key of the next value in each open container, None in a list
    members: set[str] = set()
    try:
        for event, value in parser.basic_parse(BytesIO(head), use_float=True, buf_size=256):
            if event in {"start_map", "start_array"}:
                listed = event == "start_array" if listed is None else listed
                keys.append("" if event == "start_map" else None)
            elif event in {"end_map", "end_array"}:
                keys.pop()
            elif event == "map_key":
                keys[-1] = str(value)
                if len(keys) <= 2 * _DEEPEST:
                    members.add(".".join(key for key in keys if key is not None))
    except (JSONError, UnicodeDecodeError):  # the beginning ends here, or the document is malformed
        pass
    return None if listed is None else Outline(listed, frozenset(members))


_LISTS: tuple[tuple[SampleFormat, Callable[[Outline], bool]], ...] = (
    (SampleFormat.JMH, lambda shape: shape.has("primaryMetric") or shape.has("jmhVersion")),
    (SampleFormat.GITHUB_ACTION, lambda shape: shape.has("name", "value")),
)
_OBJECTS: tuple[tuple[SampleFormat, Callable[[Outline], bool]], ...] = (
    (SampleFormat.HATI, lambda shape: shape.has("format") or shape.has("samples")),
    (SampleFormat.HYPERFINE, lambda shape: shape.has("results.command")),
    (SampleFormat.ASV, lambda shape: shape.has("result_columns")),
    (SampleFormat.PYPERF, lambda shape: shape.has("benchmarks.runs")),
    (SampleFormat.PYTEST_BENCHMARK, lambda shape: shape.has("machine_info") or shape.has("benchmarks.stats")),
    (SampleFormat.GOOGLE_BENCHMARK, lambda shape: shape.has("context") or shape.has("benchmarks.real_time")),
    (SampleFormat.BENCHMARK_DOTNET, lambda shape: shape.has("Benchmarks") or shape.has("HostEnvironmentInfo")),
    (SampleFormat.CRITERION, lambda shape: shape.has("iters", "times") or shape.has("full_id", "group_id")),
    (SampleFormat.GITHUB_ACTION, lambda shape: shape.has("entries")),
    (SampleFormat.BENCHER, lambda shape: any(re.search(r"[^.]\..*[^.]\.value$", member) for member in shape.members)),
)
_GO = re.compile(rb"^(goos|goarch|pkg): |^Benchmark\S*\s+\d", re.MULTILINE)


def detected(head: bytes) -> SampleFormat | None:
    """The format of a file by its beginning; None for an unknown format."""
    start = head.lstrip()
    if start.startswith((b"{", b"[")):
        shape = outline(head)
        rules = () if shape is None else _LISTS if shape.listed else _OBJECTS
        return next((found for found, fits in rules if shape is not None and fits(shape)), None)
    if start.startswith(PREFIX):
        return SampleFormat.GITHUB_ACTION
    if start.startswith(b"<"):
        return SampleFormat.CATCH2
    names = {name.strip(' "').lower() for name in start.split(b"\n", 1)[0].decode("utf-8", "replace").split(",")}
    if names & set(NEEDED):
        return SampleFormat.CSV
    return SampleFormat.GO if _GO.search(head) else None


Read = Callable[[OpenedFile, SampleBuilder], None]


def measured_files(path: Path) -> tuple[Path, ...]:
    """The file itself; for a folder of criterion.rs the ``sample.json`` of each benchmark, for another one its files.

    Hidden files are left out, and so are the subfolders of a folder that is not criterion.rs's.

    Raises:
        InputError: where a folder has no files.
    """
    if not path.is_dir():
        return (path,)
    found = sorted(path.glob(f"**/new/{SAMPLE_FILE}")) or sorted(path.glob(f"**/{SAMPLE_FILE}"))
    found = found or sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if not found:
        raise InputError(
            "this folder holds no files of measurements",
            place=Place(str(path)),
            fix="name a folder with files in it, target/criterion, or the files",
        )
    return tuple(found)


_READERS: Mapping[str, Read] = {
    SampleFormat.HATI: read_hati,
    SampleFormat.HYPERFINE: read_hyperfine,
    SampleFormat.JMH: read_jmh,
    SampleFormat.PYPERF: read_pyperf,
    SampleFormat.PYTEST_BENCHMARK: read_pytest_benchmark,
    SampleFormat.GOOGLE_BENCHMARK: read_google_benchmark,
    SampleFormat.GO: read_go,
    SampleFormat.CSV: read_table,
    SampleFormat.CRITERION: read_criterion,
    SampleFormat.ASV: read_asv,
    SampleFormat.GITHUB_ACTION: read_action,
    SampleFormat.BENCHER: read_bencher,
    SampleFormat.BENCHMARK_DOTNET: read_dotnet,
    SampleFormat.CATCH2: read_catch2,
}


GROUP = "hati.readers"
"""The group of the entry points of other packages."""


class FileFormat(Struct, frozen=True):
    """A file format of samples that a package adds: ``read`` reads a file, ``fits`` recognises one by its beginning.

    Its name is that of its entry point in the group ``hati.readers``; a benchmark's ``reader`` may use it too.
    """

    read: Read
    fits: Callable[[bytes], bool]


def format_names() -> tuple[str, ...]:
    """The names of all formats, Hati's own first."""
    own = (each.value for each in SampleFormat)
    return tuple(dict.fromkeys([*own, *(entry.name for entry in added(GROUP))]))


def reader_of(name: str) -> Read:
    """The reader of a format's files.

    Raises:
        InputError: for an unknown format, or where its package is not usable.
    """
    if name in _READERS:
        return _READERS[name]
    found = load_added(GROUP, name, "reader", _file_format, tuple(map(str, _READERS)))
    return lambda source, book: called(f"the reader {name!r}", found.read, source, book)


def _file_format(found: object) -> FileFormat:
    if not isinstance(found, FileFormat):
        raise InputError(f"{found!r} is not a FileFormat")
    return found


def _format_of(head: bytes) -> str | None:
    """The format of a file by its beginning, also one that a package adds; None where none fits."""
    own = detected(head)
    if own is not None:
        return own
    known = ((entry.name, load_entry(entry, "reader", _file_format)) for entry in added(GROUP))
    return next((name for name, each in known if called(f"the reader {name!r}", each.fits, head)), None)


class ImportedSamples(Struct, frozen=True):
    """The samples in files, the warnings about them, and the files' ``formats``.

    ``one_process`` are the warnings that a file is one process; empty unless a sample has a single run.
    """

    samples: tuple[Sample, ...]
    warnings: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    one_process: tuple[str, ...] = ()


def read_samples(path: Path, written_as: str | None = None, watch: Watch = unwatched) -> ImportedSamples:
    """Read a file of measurements; its format is detected unless ``written_as`` names it.

    Raises:
        InputError: where it cannot be read, has an unknown format, or is malformed, with the place.
    """
    return read_all((path,), written_as, watch)


def read_all(paths: Iterable[Path], written_as: str | None = None, watch: Watch = unwatched) -> ImportedSamples:
    """Read files of measurements together: runs with the same label form one sample.

    Raises:
        InputError: as ``read_samples``.
    """
    book = SampleBuilder()
    formats: dict[str, None] = {}
    for file in (file for path in paths for file in measured_files(path)):
        with opened(file, watch) as source:
            format_ = written_as or _format(source)
            formats[format_] = None
            _read(source, format_, book)
    samples = book.samples()
    alone = tuple(book.one_process) if any(len(sample.runs) == 1 for sample in samples) else ()
    return ImportedSamples(samples, (*book.warnings, *alone), tuple(formats), alone)


_PROJECT = "hati.toml"
_CONFIGURATION = re.compile(
    rb"(?:[ \t\r]*(?:[#;].*)?\n)*[ \t]*\[{1,2}[A-Za-z_][\w .-]*\]{1,2}[ \t\r]*(?:[#;].*)?(?:\n|$)"
)
"""The first section of a configuration, after comments."""


def _format(source: OpenedFile) -> str:
    found = _format_of(source.head)
    if found is not None:
        return found
    if not source.head.strip():
        raise InputError("the file is empty", place=Place(source.file, 1), fix="write the measurements to it again")
    formats = f"name a file of measurements, of one of the formats {', '.join(format_names())}"
    if _CONFIGURATION.match(source.head):
        own = Path(source.file).name == _PROJECT
        raise InputError(
            "this is a project, not measurements" if own else "this is a configuration (TOML or INI), not measurements",
            place=Place(source.file, 1),
            fix=f"`hati run` measures it, and `hati export` writes its runs; or {formats}" if own else formats,
        )
    if source.head.lstrip().startswith((b"{", b"[")):
        read_whole(source.stream, source.file)  # reports the place of the error, if any
    raise InputError(
        "the format of this file is not known",
        place=Place(source.file, 1),
        fix=f"name the format by hati import --from: {', '.join(format_names())}",
    )


def _read(source: OpenedFile, written_as: str, book: SampleBuilder) -> None:
    before = book.count
    reader_of(written_as)(source, book)
    if book.count == before:
        raise InputError("there is nothing measured in this file", place=Place(source.file, 1))
