"""From a file to samples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hati.core import Sample
from hati.subject.samples.book import Book
from hati.subject.samples.document import read_document
from hati.subject.samples.hati import STREAMED, read_hati
from hati.subject.samples.source import Watch, opened, unwatched


@dataclass(frozen=True)
class Imported:
    """What a file holds: its format, its samples, and what a reader of them should know."""

    format: str
    samples: tuple[Sample, ...]
    warnings: tuple[str, ...] = ()


def read_samples(path: Path, watch: Watch = unwatched) -> Imported:
    """Read a file of measurements.

    Raises:
        InputError: where it cannot be read or anything in it is malformed, with its place.
    """
    book = Book()
    with opened(path, watch) as source:
        read_hati(read_document(source.stream, source.file, STREAMED), book)
    return Imported("hati", book.samples(), tuple(book.warnings))
