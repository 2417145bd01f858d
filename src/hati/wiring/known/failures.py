"""What stored runs show of failures: a classification tree."""

from __future__ import annotations

from pathlib import Path

from hati.core import InputError, Outcome
from hati.core.wording import listed
from hati.store import Selection
from hati.studies.failure_search import StoredTree, failure_tree
from hati.studies.failure_search.outcomes import is_infrastructure
from hati.wiring.workplace import existing_store


def stored_tree(path: Path, store: str | None, study: str | None, benchmark: str | None, seed: int) -> StoredTree:
    """The classification tree of a benchmark's stored runs, of one study or of all.

    Raises:
        InputError: where there are no runs, or runs of several benchmarks.
        NotInstalledError: without the extra ``trees``.
    """
    place = existing_store(path, store)
    runs = [run for run in place.runs(Selection(study, benchmark)) if not is_infrastructure(run)]
    names = sorted({run.task.benchmark for run in runs})
    if not names:
        raise InputError("the store has no such runs", fix="`hati runs` lists them; `hati failures` runs a benchmark")
    if len(names) > 1:
        raise InputError(f"the runs are of the benchmarks {listed(names)}", fix="name one by --benchmark")
    failed = sum(run.outcome is not Outcome.DONE for run in runs)
    return StoredTree(names[0], failed, len(runs), failure_tree(runs, seed, place.machines()))
