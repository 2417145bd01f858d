"""Import the data of other stores into a project's store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from hati.store import Merged, SqlStore, count_merge, merge, open_store, source_store
from hati.wiring.workplace import IN_MEMORY, found_store, own_store


class ImportedStore(Struct, frozen=True):
    """The data imported from a store, and the store's name in messages."""

    store: str
    merged: Merged


def import_stores(sources: Sequence[str], path: Path, place: str | None) -> list[ImportedStore]:
    """Merge stores into the store of the project at a path, or into the one at ``place``; the sources do not change.

    Raises:
        InputError: where one is not a store, is empty, or of a newer Hati.
        MeasurementError: where one stays locked, or cannot be reached.
    """
    with closing(own_store(path, place)) as into:
        return _taken(sources, into, merge)


def count_import(sources: Sequence[str], path: Path, place: str | None) -> list[ImportedStore]:
    """Count what would be imported from each store; no store is created or changed.

    Raises:
        InputError: as ``import_stores``.
        MeasurementError: as ``import_stores``.
    """
    with closing(found_store(path, place) or open_store(IN_MEMORY)) as into:
        return _taken(sources, into, count_merge)


def _taken(sources: Sequence[str], into: SqlStore, take: Callable[[SqlStore, SqlStore], Merged]) -> list[ImportedStore]:
    found = []
    for source in sources:
        with source_store(source) as store:
            found.append(ImportedStore(store.name, take(into, store)))
    return found
