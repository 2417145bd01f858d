"""A classification tree of runs as a table of rules, a chart, and plain values."""

from __future__ import annotations

from msgspec import Struct

from hati.core.wording import counted
from hati.document.document import Align, Chart, ChartKind, Column, Document, Section, Shown, Table
from hati.document.quantities import percent
from hati.studies.failure_search.tree import FailureTree, StoredTree

DESCRIBES = (
    "The tree describes these runs; it confirms no cause. A search concentrates its runs around failures: a rule may "
    "have other settings than the cause, or too few."
)
CONFIRMS = "`hati failures` names and confirms the settings that cause a failure."
NOTHING = "No condition separates failed from passed runs."


class FailureRuleJson(Struct, frozen=True):
    """Conditions under which the tree predicts failure; ``failed`` of ``runs`` that meet all of them failed."""

    conditions: list[str]
    failed: int
    runs: int


class TreeBranchJson(Struct, frozen=True):
    """A node of the tree; ``parent`` is the index of the node above, null for the root."""

    condition: str
    failed: int
    runs: int
    fails: bool
    leaf: bool
    parent: int | None


class FailureTreeJson(Struct, frozen=True):
    """A classification tree of passed and failed runs; ``error`` is cross-validated, the mean of both classes.

    ``left_out`` are factors with too many settings that are not numbers.
    """

    rules: list[FailureRuleJson]
    nodes: list[TreeBranchJson]
    error: float
    standard_error: float
    runs: int
    configurations: int
    left_out: list[str]


class StoredTreeJson(Struct, frozen=True, tag_field="format", tag="hati-tree-1"):
    """The classification tree of a benchmark's stored runs; null: too few passed or failed."""

    benchmark: str
    failed: int
    runs: int
    tree: FailureTreeJson | None


def tree_sections(tree: FailureTree, *notes: str) -> tuple[Section, ...]:
    """The rules, and the tree as a chart."""
    columns = (Column("runs that fail"), Column("failed", None, Align.RIGHT))
    rows = tuple((rule.text, Shown(f"{rule.failed} of {rule.runs}", rule.failed)) for rule in tree.rules)
    guess = "" if rows else NOTHING
    omitted = (
        f"Left out, with too many settings that are not numbers: {', '.join(tree.left_out)}." if tree.left_out else ""
    )
    error = (
        f"Cross-validated over {counted(tree.configurations, 'configuration')}: {percent(tree.error)} of each class "
        f"misclassified (standard error {percent(tree.standard_error)}; guessing: 50 %)."
    )
    table = Table("Classification tree", columns, rows, (*filter(None, (guess, error, omitted)), DESCRIBES, *notes))
    caption = f"Classification tree of {counted(tree.runs, 'run')}; the table has its rules."
    return (table, Chart(ChartKind.TREE, "tree", caption, tree)) if rows else (table,)


def stored_tree_document(stored: StoredTree) -> Document:
    """The tree of a benchmark's stored runs."""
    facts = (("runs", f"{stored.runs - stored.failed:,} passed, {stored.failed:,} failed"),)
    title = f"Failed runs of {stored.benchmark}"
    if stored.tree is None:
        return Document(title, "Too few configurations passed or failed for a tree: three of each are needed.", facts)
    said = [f"{rule.text}: {rule.failed} of {counted(rule.runs, 'run')} failed." for rule in stored.tree.rules[:3]]
    return Document(title, " ".join(said) or NOTHING, facts, tree_sections(stored.tree, CONFIRMS))
