"""Feature models of SPL Conqueror (``FeatureModel.xml``) as spaces.

Siblings that must be there and exclude each other become one option whose settings are their names;
an optional feature becomes a boolean option; what stands below an optional one is active where it is
selected; what must be there disappears. Implied and excluded features and constraints become
constraints. The way back is ``FeatureModel.selected``.
"""

from hati.space.feature_model.translation import FeatureModel, parse_feature_model

__all__ = ["FeatureModel", "parse_feature_model"]
