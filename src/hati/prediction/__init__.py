"""Predictions of response times, throughputs and utilisations from a model of resources, components and workloads.

A model is answered exactly where a closed form exists, and otherwise by simulation. Each prediction says which method
gave it and why.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
