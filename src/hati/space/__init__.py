"""Spaces: options, the constraints between them, and their valid configurations.

An option has discrete settings and may be active only where a formula holds; constraints are
formulas too. Configurations are canonical: settings of inactive options are not part of them.
``count`` is exact, ``sample`` uniform, ``enumerate_configurations`` complete, all three by decision
diagrams; ``check`` finds contradictions and settings that cannot occur, by a constraint solver where
constraints are too entangled for diagrams.
A template, settings and formulas from text (``parse_template``), narrows a space (``narrowed``).
Feature models of SPL Conqueror become spaces by ``parse_feature_model``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
