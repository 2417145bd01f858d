"""A table of measured configurations in the place of a program: its runs are looked up.

``read_sheet`` reads a file into a ``Sheet`` of texts whose cells know their places, ``selected`` takes rows by what
their cells say, ``assembled`` finds options and metrics in it: a ``MeasuredTable`` that knows the runs of every
configuration. ``infer_space`` goes the other way: from the columns of a table to a space.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
