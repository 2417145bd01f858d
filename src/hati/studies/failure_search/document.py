"""Failing combinations, and classification trees of runs, as documents and as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Struct

from hati.core.wording import counted, listed
from hati.document.document import (
    Align,
    Chart,
    ChartKind,
    Column,
    Document,
    Folded,
    Section,
    Shown,
    Table,
    columns_of,
    duration,
    general,
    percent,
)
from hati.document.publishing import Of, Settings, StudyJson
from hati.studies.failure_search import CombinationVerdict, FailingCombination, FailureConclusion, PassingCoverage
from hati.studies.failure_search.outcomes import FailureTree, StoredTree, UntracedFailure

_RIGHT = Align.RIGHT


class NearMissJson(Struct, frozen=True):
    """Runs with all settings but one; ``other`` is what its option has there, null: it is inactive."""

    option: str
    other: str | None
    failed: int
    runs: int


class FailingCombinationJson(Struct, frozen=True):
    """Settings that fail together, with the runs for and against it."""

    settings: Annotated[Settings, Of(lambda found: dict(found.settings))]
    verdict: CombinationVerdict
    failed: int
    runs: int
    configurations: int
    without_failed: Annotated[int, Of("near_failed")]
    without_runs: Annotated[int, Of("near_runs")]
    p_value: float
    near_misses: list[NearMissJson]
    message: str
    usage: float | None


class PassingCoverageJson(Struct, frozen=True):
    """How many valid combinations of the settings of ``strength`` options were seen passing."""

    strength: int
    valid: int
    passing: int
    excluded: int
    share: float


class FailureRunsJson(Struct, frozen=True):
    """How many runs passed, failed, and could not be started."""

    passed: int
    failed: int
    not_started: Annotated[int, Of("infrastructure")]


class FailuresJson(StudyJson, frozen=True, tag_field="format", tag="hati-failures-1"):
    """The combinations of settings that make a benchmark fail."""

    study: str
    benchmark: str
    revision: str
    combinations: list[FailingCombinationJson]
    untraced: list[UntracedFailure]
    coverage: PassingCoverageJson
    tree: FailureTreeJson | None
    complete: bool
    configurations: int
    runs: Annotated[FailureRunsJson, Of()]
    failures: list[str]
    seconds: float
    warnings: list[str]


def failures_document(conclusion: FailureConclusion, missing_tree: str = "") -> Document:
    """The settings that fail together with their evidence, and the combinations that were seen passing.

    ``missing_tree`` says why there is no classification tree, and how to get one.
    """
    found = conclusion.combinations
    near = Folded("Without one of the settings", (_near_misses(found),))
    sections = (
        *((_combinations(found), near) if found else ()),
        *((_untraced(conclusion),) if conclusion.untraced else ()),
        *(tree_sections(conclusion.tree, "The confirmed combinations name it.") if conclusion.tree else ()),
    )
    tree = (("tree", f"none: {missing_tree}"),) if missing_tree and conclusion.failed else ()
    return Document(
        f"Failures of {conclusion.benchmark} at {conclusion.revision}",
        _answer(conclusion),
        facts=(("runs", _runs(conclusion)), ("seen passing", _seen(conclusion.coverage)), *tree),
        sections=sections,
        failures=conclusion.failures,
        warnings=(*conclusion.warnings, *_warnings(conclusion)),
        study=conclusion.study,
    )


def _answer(conclusion: FailureConclusion) -> str:
    found = conclusion.combinations
    if found:
        sentences = [_sentence(each) for each in found[:3]]
        more = [f"{counted(len(found) - 3, 'more failing combination')} in the table."] if len(found) > 3 else []
        return " ".join((*sentences, *more))
    if conclusion.untraced:
        return f"{counted(len(conclusion.untraced), 'configuration')} failed, without settings that it was traced to."
    return f"No configuration failed: {_seen(conclusion.coverage)}."


def _sentence(found: FailingCombination) -> str:
    """The settings with their runs.

    >>> _sentence(FailingCombination((("a", 1),), CombinationVerdict.CERTAIN, 6, 6, 6, (), 0.001, ""))
    'a=1 fails: 6 of 6 runs; without it: 0 of 0.'
    """
    one = len(found.settings) == 1
    how = {
        CombinationVerdict.CERTAIN: "fails" if one else "fail",
        CombinationVerdict.FLAKY: "fails at times" if one else "fail at times",
        CombinationVerdict.UNCONFIRMED: "may fail (not confirmed)",
    }[found.verdict]
    without = {1: "it", 2: "either"}.get(len(found.settings), "one of them")
    return (
        f"{found.text} {how}: {found.failed} of {found.runs} runs; "
        f"without {without}: {found.near_failed} of {found.near_runs}."
    )


def _combinations(found: tuple[FailingCombination, ...]) -> Table:
    used = any(each.usage is not None for each in found)
    columns = (
        Column("settings"),
        *((Column("usage", "%", _RIGHT),) if used else ()),
        *columns_of("verdict | > failed | > configurations", "> failed without one | > p"),
    )
    rows = tuple(
        (
            each.text,
            *((_percentage(each.usage),) if used else ()),
            each.verdict.value,
            Shown(f"{each.failed} of {each.runs}", each.failed),
            each.configurations,
            Shown(f"{each.near_failed} of {each.near_runs}", each.near_failed),
            Shown(f"{each.p_value:.2g}", each.p_value),
        )
        for each in found
    )
    notes = (
        *(f"First failure of {each.text}: {each.message}." for each in found if each.message),
        "failed: runs with all of the settings, in that number of configurations; failed without one: runs with all "
        "but one of them. p: Fisher's exact test that both fail equally often.",
        "Runs with another combination of this table are left out.",
        *(("Usage: by `usage` of hati.toml, and options used independently of one another.",) if used else ()),
    )
    return Table("Settings that fail together", columns, rows, notes)


def _percentage(fraction: float | None) -> Shown:
    return Shown("" if fraction is None else general(100 * fraction, 3), fraction)


def _near_misses(found: tuple[FailingCombination, ...]) -> Table:
    columns = columns_of("settings | option | its setting instead | > failed")
    rows = tuple(
        (each.text, miss.option, miss.other or "inactive", Shown(f"{miss.failed} of {miss.runs}", miss.failed))
        for each in found
        for miss in each.near_misses
    )
    return Table("Runs without one of the settings", columns, rows)


def _untraced(conclusion: FailureConclusion) -> Table:
    columns = columns_of("configuration | > failed | why | first failure")
    rows = tuple(
        (str(each.configuration), Shown(f"{each.failed} of {each.runs}", each.failed), each.reason, each.message)
        for each in conclusion.untraced
    )
    return Table("Failures that were not traced to settings", columns, rows)


def _runs(conclusion: FailureConclusion) -> str:
    unstarted = f", {conclusion.infrastructure:,} not started" if conclusion.infrastructure else ""
    return (
        f"{conclusion.passed:,} passed, {conclusion.failed:,} failed{unstarted}, of "
        f"{counted(conclusion.configurations, 'configuration')}; {duration(conclusion.seconds)} in all"
    )


def _seen(found: PassingCoverage) -> str:
    """The fraction of combinations that passed, in words.

    >>> _seen(PassingCoverage(2, 264, 263, 1))
    '99.6 % of the 264 valid combinations of settings of 2 options (263) were seen passing; 1 contains a failing one'
    """
    share = percent(found.share, 3) if found.passing < found.valid else "100 %"
    of = f"{share} of the {found.valid:,} valid combinations of settings of {counted(found.strength, 'option')}"
    excluded = f"{found.excluded:,} {'contains' if found.excluded == 1 else 'contain'} a failing one"
    unseen = f"{found.unseen:,} {'was' if found.unseen == 1 else 'were'} not seen"
    parts = [*([excluded] if found.excluded else []), *([unseen] if found.unseen else [])]
    return "; ".join((f"{of} ({found.passing:,}) were seen passing", *parts))


def _warnings(conclusion: FailureConclusion) -> Iterator[str]:
    if not conclusion.complete:
        yield "the budget was spent before all failures were traced and all rows run: repeat with a larger --budget"
    unconfirmed = [each.text for each in conclusion.combinations if each.verdict is CombinationVerdict.UNCONFIRMED]
    if unconfirmed and conclusion.complete:
        yield f"too few runs confirm {listed(unconfirmed, separator='; ')}: repeat with --fresh and another --seed"


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
    columns = columns_of("runs that fail | > failed")
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
