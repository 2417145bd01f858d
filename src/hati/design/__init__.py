"""Which configurations to measure so that given effects can be estimated, and what they can tell apart.

Full factorials and regular two-level fractions: by given generators, or of minimum aberration by runs or
by resolution from a table. Plackett-Burman designs, foldovers, replicates, blocks; orthogonal arrays for factors with
more than two settings. Every property of a design (word-length pattern, resolution, words, aliases,
clear interactions) is recomputed from its matrix and never taken from its recipe, so it holds
for designs that were read from a file or lost some runs as well.
"""

from hati.design.configurations import check_two_level, configurations, read_runs, run_order
from hati.design.exchange import (
    describe,
    describe_levels,
    read_csv,
    read_json,
    write_csv,
    write_json,
    write_level_csv,
    write_level_json,
)
from hati.design.names import letters, parse_factors
from hati.design.optimal.augmentation import Augmentation, augment, entangled, runs_needed
from hati.design.optimal.candidates import Candidates, Reach, candidates, from_levels
from hati.design.optimal.coding import INACTIVE, Levels, Model, levels, setting_contrasts
from hati.design.optimal.discrimination import (
    DiscriminatingRuns,
    Predictions,
    Rival,
    discriminating_runs,
    discrimination,
    predictions,
)
from hati.design.optimal.fit import Fit, fitted
from hati.design.optimal.optimal import Criterion, OptimalDesign, optimal_design
from hati.design.optimal.search import Replication
from hati.design.orthogonal.arrays import array_runs, orthogonal_array
from hati.design.orthogonal.level_design import (
    LevelDesign,
    LevelProperties,
    check_unconstrained,
    level_configurations,
    level_properties,
    strength,
)
from hati.design.two_level.aliasing import (
    AliasedEffect,
    PartialAlias,
    alias_sets,
    aliases,
    clear_interactions,
    partial_aliases,
)
from hati.design.two_level.balanced import balanced_design
from hati.design.two_level.blocking import Blocks, blocked
from hati.design.two_level.catalogue import CatalogueEntry, by_resolution, by_runs, catalogue_sizes
from hati.design.two_level.factorial import from_generators, full_factorial, parse_generators, regular_fraction
from hati.design.two_level.foldover import (
    Estimability,
    Separation,
    estimability,
    foldover,
    replicated,
    semifoldover,
    separation,
    with_replicated_points,
)
from hati.design.two_level.hadamard import hadamard, plackett_burman, plackett_burman_sizes
from hati.design.two_level.matrix import Design
from hati.design.two_level.words import (
    DesignProperties,
    Word,
    properties,
    resolution,
    shortest_words,
    word_length_pattern,
    words,
)

__all__ = [
    "INACTIVE",
    "AliasedEffect",
    "Augmentation",
    "Blocks",
    "Candidates",
    "CatalogueEntry",
    "Criterion",
    "Design",
    "DesignProperties",
    "DiscriminatingRuns",
    "Estimability",
    "Fit",
    "LevelDesign",
    "LevelProperties",
    "Levels",
    "Model",
    "OptimalDesign",
    "PartialAlias",
    "Predictions",
    "Reach",
    "Replication",
    "Rival",
    "Separation",
    "Word",
    "alias_sets",
    "aliases",
    "array_runs",
    "augment",
    "balanced_design",
    "blocked",
    "by_resolution",
    "by_runs",
    "candidates",
    "catalogue_sizes",
    "check_two_level",
    "check_unconstrained",
    "clear_interactions",
    "configurations",
    "describe",
    "describe_levels",
    "discriminating_runs",
    "discrimination",
    "entangled",
    "estimability",
    "fitted",
    "foldover",
    "from_generators",
    "from_levels",
    "full_factorial",
    "hadamard",
    "letters",
    "level_configurations",
    "level_properties",
    "levels",
    "optimal_design",
    "orthogonal_array",
    "parse_factors",
    "parse_generators",
    "partial_aliases",
    "plackett_burman",
    "plackett_burman_sizes",
    "predictions",
    "properties",
    "read_csv",
    "read_json",
    "read_runs",
    "regular_fraction",
    "replicated",
    "resolution",
    "run_order",
    "runs_needed",
    "semifoldover",
    "separation",
    "setting_contrasts",
    "shortest_words",
    "strength",
    "with_replicated_points",
    "word_length_pattern",
    "words",
    "write_csv",
    "write_json",
    "write_level_csv",
    "write_level_json",
]
