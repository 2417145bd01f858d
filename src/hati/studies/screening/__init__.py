"""Screening: which options of a program matter, from a small designed experiment.

``choose_design`` finds the design that a budget buys, ``choose_followed`` with runs to refute what it finds, ``Pilot``
what a run costs. ``ModelScreening`` plans the runs of any design and concludes by a fitted model: effects, which are
important, a ranking, and what could have been detected.
``Screening`` does the same for full factorials and for requested regular fractions, with alias sets.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
