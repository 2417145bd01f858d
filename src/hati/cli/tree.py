"""``hati tree``: a classification tree of a benchmark's stored runs, passed and failed."""

from __future__ import annotations

from typing import Annotated

import typer

from hati.cli.documents import DocumentFormat, format_option, write_document
from hati.cli.output import STDOUT, check_output
from hati.cli.parameters import HERE, BenchmarkName, Output, ProjectPath, Seed, StorePlace

_Study = Annotated[str | None, typer.Option("--study", metavar="KEY", help="Runs of this study only.")]
_Format = Annotated[str, format_option(DocumentFormat, "Output format.")]


def tree(
    path: ProjectPath = HERE,
    study: _Study = None,
    benchmark: BenchmarkName = None,
    seed: Seed = 1,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: _Format = DocumentFormat.TEXT.value,
) -> None:
    """Separate passed from failed stored runs by a classification tree.

    The tree is of the options, workloads, revisions and machines by which the runs differ.
    """
    from hati.document import publish
    from hati.studies.failure_search.tree_document import StoredTreeJson, stored_tree_document
    from hati.wiring.known.failures import stored_tree

    check_output(output, path)
    found = stored_tree(path, store, study, benchmark, seed)
    write_document(stored_tree_document(found), lambda: publish(found, StoredTreeJson), chosen, output)
