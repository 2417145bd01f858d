"""Classification trees separate planted classes, are pruned where there is nothing to separate, and hold out groups."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hati.core.requests import LARGEST_SEED
from hati.stats import classification
from hati.stats.classification import classification_tree, holding, missing_trees, positive_rules

pytest.importorskip("sklearn")
Flags = NDArray[np.bool_]


def drawn(cases: int, seed: int, features: int = 8) -> Flags:
    return np.random.default_rng(seed).random((cases, features)) < 0.5


def groups_of(features: Flags) -> NDArray[np.intp]:
    return np.unique(features, axis=0, return_inverse=True)[1].reshape(-1)


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_conjunction_is_the_only_rule(seed: int) -> None:
    features = drawn(100, seed)
    positive = features[:, 1] & ~features[:, 4] & features[:, 6]
    tree = classification_tree(features, positive, groups_of(features), seed)
    assert tree is not None
    assert positive_rules(tree, features, positive) == (((1, True), (4, False), (6, True)),)
    assert tree.error < 0.1


def test_two_planted_conjunctions_are_two_rules() -> None:
    features = drawn(200, 1)
    first, second = features[:, 0] & features[:, 1], ~features[:, 2] & features[:, 3] & features[:, 5]
    tree = classification_tree(features, first | second, groups_of(features), 1)
    assert tree is not None
    rules = set(positive_rules(tree, features, first | second))
    assert rules == {((0, True), (1, True)), ((2, False), (3, True), (5, True))}


@pytest.mark.parametrize("seed", range(10))
def test_a_single_planted_feature_is_the_only_rule(seed: int) -> None:
    features = drawn(100, seed)
    tree = classification_tree(features, features[:, 1], groups_of(features), seed)
    assert tree is not None
    assert positive_rules(tree, features, features[:, 1]) == (((1, True),),)


@pytest.mark.statistical
@pytest.mark.acceptance
def test_classes_at_random_are_not_separated() -> None:
    rules = 0
    for seed in range(20):
        features = drawn(80, seed)
        positive = np.random.default_rng([seed, 3]).random(80) < 0.3
        tree = classification_tree(features, positive, groups_of(features), seed)
        assert tree is not None
        rules += positive_rules(tree, features, positive) != ()
    assert rules <= 6  # 4 of 30 elsewhere: two standard errors, and the least of several errors


def test_any_seed_is_permitted() -> None:
    features = drawn(60, 1)
    assert classification_tree(features, features[:, 1], groups_of(features), LARGEST_SEED) is not None


def test_numbers_of_nodes_are_those_of_cases_without_weights() -> None:
    features = drawn(90, 4)
    positive = features[:, 0] & features[:, 1]
    tree = classification_tree(features, positive, groups_of(features), 1)
    assert tree is not None
    assert (tree.nodes[0].cases, tree.nodes[0].positive) == (90, int(positive.sum()))
    for number, node in enumerate(tree.nodes):
        own = holding(tree.conditions(number), features)
        assert (node.cases, node.positive) == (int(own.sum()), int(positive[own].sum()))
        assert node.parent is None or node.parent < number


def test_cases_of_a_group_are_held_out_together() -> None:
    """Features that only tell the groups apart predict nothing of a group that is held out."""
    features = np.repeat(np.eye(12, dtype=np.bool_), 10, axis=0)
    positive = np.repeat(np.arange(12) % 2 == 0, 10)
    tree = classification_tree(features, positive, np.repeat(np.arange(12), 10), 1)
    assert tree is not None
    assert tree.error >= 0.4


@pytest.mark.parametrize("positives", [0, 2, 58, 60])
def test_without_three_groups_of_each_class_there_is_no_tree(positives: int) -> None:
    features, positive = np.eye(60, dtype=np.bool_), np.arange(60) < positives
    assert classification_tree(features, positive, np.arange(60), 1) is None


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_trees() == ""
    monkeypatch.setattr(classification, "find_spec", lambda _: None)
    assert "pip install 'hati[trees]'" in missing_trees()
    with pytest.raises(classification.NotInstalledError, match="scikit-learn"):
        classification_tree(drawn(10, 1), drawn(10, 2)[:, 0], np.arange(10), 1)
