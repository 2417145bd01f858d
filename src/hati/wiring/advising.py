"""What warnings advise, by where a screening's runs are from."""

from __future__ import annotations

from hati.studies.screening import OF_TABLES, Remedies, of_table, repeated_from
from hati.wiring.table import BENCHMARK
from hati.wiring.workplace import IN_MEMORY, Workplace

_STORED = "see `hati runs --store`"


def remedies(place: Workplace, benchmark: str, asked_for: object | None) -> Remedies:
    """The advice for a screening: of a program, or of a table, of which a store may hold what was looked up.

    ``asked_for`` is the effect that the design has to find, or the fraction that it has to be, whatever the budget.
    """
    repeated = None if asked_for else repeated_from(place.project.space, place.repetitions)
    if place.table is not None:
        failures = "" if place.store.name == IN_MEMORY else _STORED
        return of_table(place.table.runs, repeated_from=repeated, failures=failures)
    if benchmark == BENCHMARK and all(known.name != BENCHMARK for known in place.project.benchmarks):
        return of_table(OF_TABLES.available, repeated_from=None, failures=_STORED)
    return Remedies(repeated)
