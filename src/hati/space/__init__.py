"""Spaces: options, the constraints between them, and the configurations that there are.

An option has discrete settings and may be active only where a formula holds; constraints are
formulas too. Configurations are canonical: settings of inactive options are not part of them.
``count`` is exact, ``sample`` uniform, ``enumerate_configurations`` complete, all three by decision
diagrams; ``check`` finds contradictions and settings that cannot occur, by a constraint solver where
constraints are too entangled for diagrams.
A template, settings and formulas from text (``parse_template``), narrows a space (``narrowed``).
Feature models of SPL Conqueror become spaces by ``parse_feature_model``.
"""

from hati.space.configurations import Diagnosis, check, count, enumerate_configurations, narrowed, sample
from hati.space.constraint import Constraint, OptionKind, parse_formula
from hati.space.evaluation import Option, OptionError, check_formula, read_setting
from hati.space.feature_model import FeatureModel, parse_feature_model
from hati.space.space import Space, SpaceError, Template, parse_template

__all__ = [
    "Constraint",
    "Diagnosis",
    "FeatureModel",
    "Option",
    "OptionError",
    "OptionKind",
    "Space",
    "SpaceError",
    "Template",
    "check",
    "check_formula",
    "count",
    "enumerate_configurations",
    "narrowed",
    "parse_feature_model",
    "parse_formula",
    "parse_template",
    "read_setting",
    "sample",
]
