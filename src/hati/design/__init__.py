"""Which configurations to measure so that given effects can be estimated, and what they can tell apart.

Full factorials and regular two-level fractions: by given generators, or of minimum aberration by runs or
by resolution from a table. Every property of a design (word-length pattern, resolution, words, aliases,
clear interactions) is recomputed from its matrix and never taken from its recipe, so it holds
for designs that were read from a file or lost some runs as well.
"""

from hati.design.aliasing import (
    Alias,
    PartialAlias,
    alias_sets,
    aliases,
    clear_interactions,
    partial_aliases,
)
from hati.design.catalogue import CatalogueEntry, by_resolution, by_runs, catalogue_sizes
from hati.design.configurations import check_two_level, configurations
from hati.design.describe import describe
from hati.design.exchange import read_csv, read_json, write_csv, write_json
from hati.design.factorial import from_generators, full_factorial, parse_generators
from hati.design.matrix import Design
from hati.design.names import letters, parse_factors
from hati.design.order import run_order
from hati.design.properties import DesignProperties, properties
from hati.design.words import Word, resolution, word_length_pattern, words

__all__ = [
    "Alias",
    "CatalogueEntry",
    "Design",
    "DesignProperties",
    "PartialAlias",
    "Word",
    "alias_sets",
    "aliases",
    "by_resolution",
    "by_runs",
    "catalogue_sizes",
    "check_two_level",
    "clear_interactions",
    "configurations",
    "describe",
    "from_generators",
    "full_factorial",
    "letters",
    "parse_factors",
    "parse_generators",
    "partial_aliases",
    "properties",
    "read_csv",
    "read_json",
    "resolution",
    "run_order",
    "word_length_pattern",
    "words",
    "write_csv",
    "write_json",
]
