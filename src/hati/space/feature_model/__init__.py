"""Feature models of SPL Conqueror (``FeatureModel.xml``) as spaces.

Mandatory siblings that exclude each other become one option whose settings are their names. An optional feature
becomes a boolean option, and the options below it are active where it is selected. Other mandatory features
disappear. Implied and excluded features and constraints become constraints. ``FeatureModel.selected`` translates
back.
"""

from hati.space.feature_model.translation import FeatureModel, parse_feature_model

__all__ = ["FeatureModel", "parse_feature_model"]
