"""Passed and failed configurations as arrays, what a search for failing combinations concludes, and its trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from math import ceil, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, Evidence, ExitStatus, Machine, Outcome, Run, Setting, requests, setting_text
from hati.design import INACTIVE, Levels, levels
from hati.stats.classification import ClassificationTree, Flags, Numbers, classification_tree, holding, positive_rules
from hati.studies.screening.planning.isolation import Element

if TYPE_CHECKING:
    from hati.space import Space


Counts = NDArray[np.intp]

_MISSED = 0.02
"""The probability with which a flaky failure may be missed in repeated runs of a configuration."""


def is_infrastructure(run: Run) -> bool:
    """Whether a run says nothing about its configuration: no process was started."""
    return run.outcome is Outcome.NOT_STARTED


def passes_needed(rate: float) -> int:
    """The number of passes that rules out failures at this rate, with 2 % of these missed; one for a rate of 1.

    >>> passes_needed(1.0), passes_needed(0.5)
    (1, 6)
    """
    return 1 if rate >= 1.0 else ceil(log(_MISSED) / log(1.0 - rate))


class ConfigurationOutcomes(Struct, frozen=True, dict=True):
    """The numbers of passed and failed runs of each configuration, in the order of their first runs."""

    space: Space
    evidence: Evidence

    @cached_property
    def counts(self) -> dict[Configuration, tuple[int, int, int]]:
        """The numbers of runs that passed, that failed, and that were not started, by configuration."""
        found: dict[Configuration, list[int]] = {}
        for run in self.evidence.runs:
            kind = 2 if is_infrastructure(run) else int(run.outcome is not Outcome.DONE)
            found.setdefault(run.task.configuration, [0, 0, 0])[kind] += 1
        return {configuration: (each[0], each[1], each[2]) for configuration, each in found.items()}

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations that were run."""
        return tuple(self.counts)

    @cached_property
    def rows(self) -> Levels:
        """The positions of their settings, shape (configurations, options)."""
        return levels(self.configurations, self.space)

    @cached_property
    def passed(self) -> Counts:
        """Runs that passed, shape (configurations,)."""
        return np.array([each[0] for each in self.counts.values()], dtype=np.intp)

    @cached_property
    def failed(self) -> Counts:
        """Runs that failed, shape (configurations,)."""
        return np.array([each[1] for each in self.counts.values()], dtype=np.intp)

    @cached_property
    def unstarted(self) -> Counts:
        """Runs that were not started, shape (configurations,)."""
        return np.array([each[2] for each in self.counts.values()], dtype=np.intp)

    @property
    def ran(self) -> Counts:
        """Runs that say something about their configuration, shape (configurations,)."""
        return self.passed + self.failed

    def passing(self, needed: int = 1) -> Flags:
        """Whether each never failed, and passed at least ``needed`` times; shape (configurations,)."""
        return np.asarray((self.failed == 0) & (self.passed >= needed))

    def matching(self, elements: tuple[Element, ...]) -> NDArray[np.bool_]:
        """Whether each has each of these settings, shape (configurations, elements)."""
        wanted = [(self.space.names.index(name), self.space.option(name).position(value)) for name, value in elements]
        return np.array([self.rows[:, column] == place for column, place in wanted]).T.reshape(-1, len(elements))

    def having(self, combinations: tuple[tuple[Element, ...], ...]) -> Flags:
        """Whether each has all settings of one of the combinations, shape (configurations,)."""
        found = np.zeros(len(self.rows), dtype=np.bool_)
        for elements in combinations:
            found |= self.matching(elements).all(axis=1)
        return found

    def first_failure(self, configuration: Configuration) -> str:
        """The message of its first failure."""
        failed = (run for run in self.evidence.runs if run.task.configuration == configuration)
        run = next(each for each in failed if each.outcome is not Outcome.DONE and not is_infrastructure(each))
        return run.detail.partition("\n")[0] or run.outcome.value

    def active(self, row: int) -> Flags:
        """Whether each option is active in a configuration, shape (options,)."""
        return np.asarray(self.rows[row] != INACTIVE)


_MOST_LABELS = 40
"""The number of different settings above which none has a feature of its own: it would name single runs."""


class FailureRule(Struct, frozen=True):
    """Conditions under which the tree predicts failure; ``failed`` of the ``runs`` that meet all of them failed."""

    conditions: tuple[str, ...]
    failed: int
    runs: int

    @property
    def text(self) -> str:
        """The conditions as text."""
        return " and ".join(self.conditions)


class TreeBranch(Struct, frozen=True):
    """A node of the tree: the runs that meet its ``condition`` and those above; ``fails`` is its prediction.

    ``parent`` is the place of the node above among the tree's nodes, None for the root, whose condition is empty.
    """

    condition: str
    failed: int
    runs: int
    fails: bool
    leaf: bool
    parent: int | None = None


class FailureTree(Struct, frozen=True):
    """A classification tree of runs: its nodes, the root first, and its rules, the surest first.

    ``error`` is the cross-validated mean of the fractions of failed and of passed runs that are misclassified, with its
    standard error; configurations are held out whole. Factors that are ``left_out`` have too many settings that are not
    numbers.
    """

    rules: tuple[FailureRule, ...]
    nodes: tuple[TreeBranch, ...]
    error: float
    standard_error: float
    runs: int
    configurations: int
    left_out: tuple[str, ...] = ()


class StoredTree(Struct, frozen=True):
    """The tree of a benchmark's stored runs, ``failed`` of ``runs``; None if too few passed or failed."""

    benchmark: str
    failed: int
    runs: int
    tree: FailureTree | None


def failure_tree(runs: Iterable[Run], seed: int, machines: Sequence[Machine] = ()) -> FailureTree | None:
    """The tree of these runs; None if fewer than three configurations passed, or failed.

    Raises:
        NotInstalledError: without the extra ``trees``.
    """
    counted = [run for run in runs if not is_infrastructure(run)]
    factors = _Factors.of(counted, machines)
    failed = np.array([run.outcome is not Outcome.DONE for run in counted], dtype=np.bool_)
    keys = [run.task.configuration.key for run in counted]
    groups = np.unique(np.array(keys, dtype=np.str_), return_inverse=True)[1].reshape(-1)
    tree = classification_tree(factors.flags, failed, groups, seed)
    if tree is None:
        return None
    return FailureTree(
        tuple(_rules(tree, factors, failed)),
        tuple(_branches(tree, factors)),
        tree.error,
        tree.standard_error,
        len(counted),
        len(set(keys)),
        factors.left_out,
    )


def _rules(tree: ClassificationTree, factors: _Factors, failed: Flags) -> Iterator[FailureRule]:
    for conditions in positive_rules(tree, factors.flags, failed):
        own = failed[holding(conditions, factors.flags)]
        texts = tuple(sorted(factors.text(*condition) for condition in conditions))
        yield FailureRule(texts, int(own.sum()), len(own))


def _branches(tree: ClassificationTree, factors: _Factors) -> Iterator[TreeBranch]:
    for node in tree.nodes:
        text = factors.text(*node.condition) if node.condition else ""
        yield TreeBranch(text, node.positive, node.cases, node.predicts, node.leaf, node.parent)


class _Feature(Struct, frozen=True):
    """What a run may have: a setting of a factor, or a number up to a limit; ``lacking`` is the text of the others."""

    having: str
    lacking: str


class _Factors(Struct, frozen=True):
    """The features of runs: ``flags`` says which run has which, shape (runs, features); no two are equivalent.

    The runs differ by factors that are ``left_out``, too, which have no features.
    """

    features: tuple[_Feature, ...]
    flags: Flags
    left_out: tuple[str, ...]

    @classmethod
    def of(cls, runs: Sequence[Run], machines: Sequence[Machine]) -> _Factors:
        """The features by which the runs differ."""
        known = {state.fingerprint: state.properties for machine in machines for state in machine.states}
        values = [dict(_values(run, dict(known.get(run.machine, ())))) for run in runs]
        found: dict[bytes, tuple[_Feature, Flags]] = {}
        left_out = []
        for name in dict.fromkeys(name for each in values for name in each):
            own = [each.get(name) for each in values]
            features = list(_features(name, own))
            if not features and len(set(map(_label, own))) > 1:
                left_out.append(name)
            for feature, column in features:
                canonical = column if column[0] else ~column
                if not canonical.all():
                    found.setdefault(canonical.tobytes(), (feature, column))
        flags = np.array([column for _, column in found.values()], dtype=np.bool_).reshape(-1, len(runs)).T
        return cls(tuple(feature for feature, _ in found.values()), flags, tuple(left_out))

    def text(self, number: int, has: bool) -> str:  # noqa: FBT001 - the side of a split
        """A condition in words."""
        feature = self.features[number]
        return feature.having if has else feature.lacking


def _values(run: Run, properties: Mapping[str, str]) -> Iterator[tuple[str, Setting]]:
    """The settings of all that may distinguish runs, options first."""
    yield from run.task.configuration.items()
    for name, setting in run.task.workload.items():
        yield f"workload {name}", setting
    yield "revision", run.task.revision
    yield "machine", properties.get("name", run.machine)
    for name, text in properties.items():
        if name != "name":
            yield f"machine's {name}", text


def _features(name: str, values: Sequence[Setting | None]) -> Iterator[tuple[_Feature, Flags]]:
    """The features of a factor, each with the runs that have it; None: the factor is inactive."""
    labels, own = _numbered(list(map(_label, values)))
    if 1 < len(labels) <= _MOST_LABELS:
        for place, label in enumerate(labels):
            lacking = labels[1 - place].equal(name) if len(labels) == 2 else label.unequal(name)
            yield _Feature(label.equal(name), lacking), own == place
    if all(label.kind == _NUMBER for label in labels):
        for place in _limits(own):
            text = labels[place].text
            yield _Feature(f"{name}<={text}", f"{name}>{text}"), own <= place


_NUMBER, _TEXT, _INACTIVE = range(3)


class _Label(NamedTuple):
    """What a factor is in a run; labels are sorted by number, then text, inactive last."""

    kind: int
    number: float
    text: str

    def equal(self, name: str) -> str:
        return f"{name} is inactive" if self.kind == _INACTIVE else f"{name}={self.text}"

    def unequal(self, name: str) -> str:
        return f"{name} is active" if self.kind == _INACTIVE else f"{name}!={self.text}"


def _numbered(labels: Sequence[_Label]) -> tuple[list[_Label], Numbers]:
    """The different labels in order, and which one each run has, shape (runs,)."""
    ordered = sorted(set(labels))
    places = {label: place for place, label in enumerate(ordered)}
    return ordered, np.array([places[label] for label in labels], dtype=np.intp)


def _limits(own: Numbers) -> list[int]:
    """Limits between numbers that are numbered in order: all, or of many some with about as many runs between each."""
    most = int(own.max(initial=0))
    if most <= _MOST_LABELS:
        return list(range(most))
    quantiles = np.quantile(own, np.linspace(0, 1, _MOST_LABELS + 2)[1:-1], method="inverted_cdf")
    return sorted({int(place) for place in quantiles} - {most})


def _label(value: Setting | None) -> _Label:
    if value is None:
        return _Label(_INACTIVE, 0.0, "")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _Label(_NUMBER, value, setting_text(value))
    return _Label(_TEXT, 0.0, setting_text(value) or repr(""))


class CombinationVerdict(StrEnum):
    """Whether settings fail together: always, sometimes, or not yet confirmed."""

    CERTAIN = "certain"
    FLAKY = "flaky"
    UNCONFIRMED = "unconfirmed"


def parse_failing(text: str) -> frozenset[CombinationVerdict]:
    """The verdicts that end with a status above 0.

    Raises:
        InputError: for a text that is not a verdict.
    """
    return requests.parse_failing(text, {verdict.value: verdict for verdict in CombinationVerdict})


class NearMiss(Struct, frozen=True):
    """Runs of configurations that have all settings of a combination but one: ``other`` is that option's setting there.

    It is None if the option is inactive.
    """

    option: str
    other: str | None
    failed: int
    runs: int


class FailingCombination(Struct, frozen=True):
    """The fewest settings that fail together.

    ``failed`` of ``runs`` failed with all of them, in that number of ``configurations``; ``near_misses`` are the runs
    without one of them. Runs with another failing combination are left out of both. ``p_value`` is that of Fisher's
    exact one-sided test comparing the two; ``message`` is that of the first failure. ``usage`` is the fraction of uses
    with all of the settings, None if the project does not say how often settings are used.
    """

    settings: tuple[Element, ...]
    verdict: CombinationVerdict
    failed: int
    runs: int
    configurations: int
    near_misses: tuple[NearMiss, ...]
    p_value: float
    message: str
    usage: float | None = None

    @property
    def text(self) -> str:
        """The settings as text."""
        return " and ".join(f"{name}={setting_text(setting) or repr('')}" for name, setting in self.settings)

    @property
    def near_runs(self) -> int:
        """The number of runs without one of the settings."""
        return sum(each.runs for each in self.near_misses)

    @property
    def near_failed(self) -> int:
        """The number of failed runs without one of the settings."""
        return sum(each.failed for each in self.near_misses)


class UntracedFailure(Struct, frozen=True):
    """A configuration that failed without a failing combination; ``reason`` says why it was not traced to one."""

    configuration: Configuration
    failed: int
    runs: int
    message: str
    reason: str


class PassingCoverage(Struct, frozen=True):
    """The number of ``valid`` combinations of the settings of ``strength`` options that were seen ``passing``.

    ``excluded`` counts those that occur only together with a failing combination; the rest was not seen.
    """

    strength: int
    valid: int
    passing: int
    excluded: int

    @property
    def share(self) -> float:
        """The fraction that was seen passing."""
        return self.passing / self.valid if self.valid else 1.0

    @property
    def unseen(self) -> int:
        """The number of combinations that neither passed nor are excluded."""
        return max(0, self.valid - self.passing - self.excluded)


class FailureConclusion(Struct, frozen=True):
    """The failing combinations, and the part of the space that was seen passing.

    ``passed`` and ``failed`` count runs of configurations; ``infrastructure`` counts runs that could not be started,
    which say nothing about a configuration. ``complete`` is true if the search had all runs that it needs. ``tree`` is
    a classification tree of the same runs, None if none was grown.
    """

    study: str
    benchmark: str
    revision: str
    combinations: tuple[FailingCombination, ...]
    untraced: tuple[UntracedFailure, ...]
    coverage: PassingCoverage
    passed: int
    failed: int
    infrastructure: int
    configurations: int
    complete: bool
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...] = ()
    tree: FailureTree | None = None

    def status(self, failing: frozenset[CombinationVerdict]) -> ExitStatus:
        """The exit status of a command that fails on these verdicts.

        Failures that were not traced, and a search that had too few runs to finish, count as unconfirmed.
        """
        verdicts = {each.verdict for each in self.combinations}
        if failing & verdicts - {CombinationVerdict.UNCONFIRMED}:
            return ExitStatus.WORSE
        undecided = CombinationVerdict.UNCONFIRMED in verdicts or self.untraced or not self.complete
        return ExitStatus.UNDECIDED if CombinationVerdict.UNCONFIRMED in failing and undecided else ExitStatus.OK
