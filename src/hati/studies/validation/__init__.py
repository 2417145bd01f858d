"""Validation: test whether a screening's assumptions hold, at the least cost.

``Validation`` finds the models that a screening's runs cannot distinguish, plans the few runs that discriminate them
best, and concludes which model is left, or that it is undecided. ``Augmenting`` costs more: it estimates important
effects apart from their aliases, or all effects up to an order. ``Confirming`` is for screenings by a model: it tests
whether the model predicts new configurations, and whether its effects hold with these.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
