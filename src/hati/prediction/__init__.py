"""Predictions of response times, throughputs and utilisations from a model of resources, components and workloads.

Predictions are exact if the model has a closed form, else they are simulated. Each prediction gives its method and the
reason for it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
