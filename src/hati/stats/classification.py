"""Classification trees: cross-validated, and pruned by cost-complexity. They need the extra ``trees``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import NotInstalledError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Flags = NDArray[np.bool_]
Numbers = NDArray[np.intp]

FOLDS = 10
FEWEST = 3
"""The least number of groups of each class: with fewer, no error is estimated."""
_WHY = "classification trees need scikit-learn"
_FIX = "install it: pip install 'hati[trees]'"
_DEEPEST = 12
_CERTAINTY = 0.25
"""The level of the upper limit of a rule's error (C4.5's default)."""

_ROOT_ALONE = 1.0
"""A cost-complexity at which nothing but the root is left, as no impurity is larger."""
_ERRORS = 2.0
_SEEDS = 2**32

Condition = tuple[int, bool]
"""A feature, and whether cases have it."""


class TreeNode(Struct, frozen=True):
    """A node that ``cases`` reach, ``positive`` of them of the positive class, which it ``predicts`` or not.

    ``parent`` is the number of the node above, None for the root; ``condition`` distinguishes it from its sibling.
    """

    cases: int
    positive: int
    predicts: bool
    leaf: bool
    parent: int | None = None
    condition: Condition | None = None


class ClassificationTree(Struct, frozen=True):
    """A pruned tree: the root is its first node, and each node stands before the nodes below it.

    ``error`` is the cross-validated fraction of misclassified cases, the mean of both classes, with its standard error;
    guessing has .5.
    """

    nodes: tuple[TreeNode, ...]
    error: float
    standard_error: float

    def conditions(self, number: int) -> tuple[Condition, ...]:
        """The conditions on the way to a node, that of the root's child first."""
        node = self.nodes[number]
        if node.parent is None or node.condition is None:
            return ()
        return (*self.conditions(node.parent), node.condition)

    @property
    def positive_leaves(self) -> tuple[int, ...]:
        """The numbers of the leaves that predict the positive class."""
        return tuple(number for number, node in enumerate(self.nodes) if node.leaf and node.predicts)


def missing_trees() -> str:
    """Why no tree is grown, and the command to fix it; empty if the extra is installed."""
    return "" if find_spec("sklearn") is not None else f"{_WHY}; {_FIX}"


def classification_tree(features: Flags, positive: Flags, groups: Numbers, seed: int) -> ClassificationTree | None:
    """Grow a tree that separates positive cases from the others; None if a class has fewer than three groups.

    It is the smallest tree of the cost-complexity sequence with the least cross-validated error (Breiman, Friedman,
    Olshen and Stone 1984, section 3.4); its root alone if that error is not below one half by two standard errors, as
    for classes at random. Both classes have equal weight.

    Args:
        features: which features each case has, shape (cases, features).
        positive: the class of each case, shape (cases,).
        groups: cases of a group are held out together, shape (cases,).
        seed: random seed of the folds, and of the choice between equally good splits; modulo 2**32.

    Raises:
        NotInstalledError: without the extra ``trees``.
    """
    if missing_trees():
        raise NotInstalledError(_WHY, fix=_FIX)
    if not features.shape[1] or _fewest_groups(positive, groups) < FEWEST:
        return None
    seed %= _SEEDS
    path = np.maximum(_estimator(0.0, seed).cost_complexity_pruning_path(features, positive).ccp_alphas, 0.0)
    alphas = np.append(np.sqrt(path[:-1] * path[1:]), _ROOT_ALONE)
    errors = _errors(features, positive, groups, alphas, seed)
    error, spread = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
    chosen = int(np.flatnonzero(error <= error.min())[-1])
    if error[chosen] + _ERRORS * spread[chosen] >= 0.5:
        chosen = len(alphas) - 1
    fitted = _estimator(float(alphas[chosen]), seed).fit(features, positive)
    nodes = tuple(_nodes(fitted.tree_, features, positive))
    return ClassificationTree(nodes, float(error[chosen]), float(spread[chosen]))


def positive_rules(tree: ClassificationTree, features: Flags, positive: Flags) -> tuple[tuple[Condition, ...], ...]:
    """Rules for the positive class: the conditions of its leaves without superfluous ones, the surest rule first.

    A condition is superfluous if the rule's pessimistic error is no higher without it, which is the upper limit of the
    error's binomial interval at 25 %; a rule is, if surer ones hold for all its positive cases (C4.5's rules, Quinlan
    1993, chapter 5).
    """
    found = {frozenset(_simplified(tree.conditions(leaf), features, positive)) for leaf in tree.positive_leaves}
    rules = sorted((tuple(sorted(each)) for each in found if each), key=lambda each: (len(each), each))
    kept: list[tuple[Condition, ...]] = []
    explained = np.zeros(len(positive), dtype=np.bool_)
    for rule in sorted(rules, key=lambda each: _pessimistic(each, features, positive)):
        own = holding(rule, features) & positive
        if (own & ~explained).any():
            kept.append(rule)
            explained |= own
    return tuple(kept)


def _simplified(conditions: Sequence[Condition], features: Flags, positive: Flags) -> list[Condition]:
    kept = list(conditions)
    while len(kept) > 1:
        errors = [_pessimistic([*kept[:place], *kept[place + 1 :]], features, positive) for place in range(len(kept))]
        least = int(np.argmin(errors))
        if errors[least] > _pessimistic(kept, features, positive):
            break
        del kept[least]
    return kept


def holding(conditions: Sequence[Condition], features: Flags) -> Flags:
    """Whether all conditions hold for each case, shape (cases,)."""
    found = np.ones(len(features), dtype=np.bool_)
    for feature, has in conditions:
        found &= features[:, feature] == has
    return found


def _pessimistic(conditions: Sequence[Condition], features: Flags, positive: Flags) -> float:
    from scipy.stats import beta

    own = positive[holding(conditions, features)]
    wrong = int((~own).sum())
    return float(beta.ppf(1 - _CERTAINTY, wrong + 1, len(own) - wrong)) if wrong < len(own) else 1.0


def _fewest_groups(positive: Flags, groups: Numbers) -> int:
    return min(len(np.unique(groups[positive == kind])) for kind in (False, True))


def _estimator(alpha: float, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(class_weight="balanced", ccp_alpha=alpha, max_depth=_DEEPEST, random_state=seed)


def _errors(
    features: Flags, positive: Flags, groups: Numbers, alphas: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    """The balanced error in each fold at each alpha, shape (folds, alphas)."""
    from sklearn.model_selection import StratifiedGroupKFold

    number = min(FOLDS, _fewest_groups(positive, groups))
    folds = StratifiedGroupKFold(number, shuffle=True, random_state=seed)
    found: list[list[float]] = []
    for own, held in folds.split(features, positive, groups):
        trees = (_estimator(float(alpha), seed).fit(features[own], positive[own]) for alpha in alphas)
        wrong = [tree.predict(features[held]) != positive[held] for tree in trees]
        kinds = [positive[held] == kind for kind in (False, True)]
        found.append([float(np.mean([each[kind].mean() for kind in kinds if kind.any()])) for each in wrong])
    return np.array(found)


def _nodes(tree: Any, features: Flags, positive: Flags) -> Iterator[TreeNode]:
    """The nodes of scikit-learn's tree, in its order, with the numbers of cases without weights."""
    reached = tree.decision_path(features.astype(np.float32)).toarray().astype(np.bool_)
    above: dict[int, tuple[int, Condition]] = {}
    for number in range(tree.node_count):
        feature, own = int(tree.feature[number]), reached[:, number]
        leaf = tree.children_left[number] == tree.children_right[number]
        if not leaf:
            above[int(tree.children_left[number])] = number, (feature, False)
            above[int(tree.children_right[number])] = number, (feature, True)
        parent, condition = above.get(number, (None, None))
        predicts = bool(np.argmax(tree.value[number][0]))
        yield TreeNode(int(own.sum()), int(positive[own].sum()), predicts, bool(leaf), parent, condition)
