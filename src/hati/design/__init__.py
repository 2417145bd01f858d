"""Designs: the configurations to measure so that given effects can be estimated and distinguished.

Full factorials and regular two-level fractions: by given generators, or of minimum aberration by runs or
by resolution from a table. Plackett-Burman designs, foldovers, replicates, blocks; orthogonal arrays for factors with
more than two settings; covering arrays under constraints. Every property of a design (word-length pattern, resolution,
words, aliases, clear interactions) is recomputed from its matrix and never taken from its recipe, so it holds for
designs that were read from a file or lost some runs as well.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
