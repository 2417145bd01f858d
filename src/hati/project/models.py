"""Feature models from files."""

from __future__ import annotations

from pathlib import Path

from hati.project.files import read_text
from hati.space import FeatureModel, parse_feature_model

_LARGEST = 16_000_000


def read_feature_model(path: Path) -> FeatureModel:
    """Read a ``FeatureModel.xml`` of SPL Conqueror.

    Raises:
        InputError: for all that is wrong with it, with its place.
    """
    return parse_feature_model(read_text(path, largest=_LARGEST), str(path))
