"""Arrays in, numbers out: the statistics that studies conclude with.

Designs: contrasts and alias sets, effects by least squares, analysis of variance, pseudo standard errors, models
that data cannot distinguish, and the power of a study. Two samples: differences of run means, with or without
borrowed variance, tests, bootstrap, clusters, and tests that are valid at any time. Series: steadiness,
autocorrelation, change points, outliers, trend. An effect is always the mean at the second setting (+) minus the mean
at the first (-); a run is the unit of every claim about noise.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
