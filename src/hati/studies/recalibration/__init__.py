"""Recalibration: when important options are due to be determined again, and what changed then (RES paper, step 6).

``due`` compares the events since the last screening with a ``Policy``; ``residual_shift`` tests whether the model of
a screening still predicts the measurements; ``effect_changes`` compares the effects of two screenings.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
