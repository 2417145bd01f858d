"""From files to samples."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from hati.core import InputError, Place, Sample, SampleFormat
from hati.subject.samples.book import Book
from hati.subject.samples.detection import detected
from hati.subject.samples.document import read_whole
from hati.subject.samples.formats import READERS, criterion_files
from hati.subject.samples.source import Source, Watch, opened, unwatched

_KNOWN = f"name the format by hati import --from: {', '.join(SampleFormat)}"


class Imported(Struct, frozen=True):
    """What files hold: their samples, and what a reader of them should know."""

    samples: tuple[Sample, ...]
    warnings: tuple[str, ...] = ()


def read_samples(path: Path, written_as: SampleFormat | None = None, watch: Watch = unwatched) -> Imported:
    """Read a file of measurements; its format is found from how it begins where it is not given.

    Raises:
        InputError: where it cannot be read, is of no known format, or anything in it is malformed, with its place.
    """
    return read_all((path,), written_as, watch)


def read_all(paths: Iterable[Path], written_as: SampleFormat | None = None, watch: Watch = unwatched) -> Imported:
    """Read files of measurements together: what they have of the same thing is one sample's runs.

    Raises:
        InputError: as ``read_samples``.
    """
    book = Book()
    for path in paths:
        for file in criterion_files(path) if path.is_dir() else (path,):
            with opened(file, watch) as source:
                _read(source, written_as or _format(source), book)
    return Imported(book.samples(), tuple(book.warnings))


def _format(source: Source) -> SampleFormat:
    found = detected(source.head)
    if found is not None:
        return found
    if not source.head.strip():
        raise InputError("the file is empty", place=Place(source.file, 1))
    if source.head.lstrip().startswith((b"{", b"[")):
        read_whole(source.stream, source.file)  # which tells where it is no JSON
    raise InputError("the format of this file is not known", place=Place(source.file, 1), fix=_KNOWN)


def _read(source: Source, written_as: SampleFormat, book: Book) -> None:
    before = book.count
    READERS[written_as](source, book)
    if book.count == before:
        raise InputError("there is nothing measured in this file", place=Place(source.file, 1))
