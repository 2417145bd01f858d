"""A table of measured configurations that replaces a program: its runs are looked up.

``read_sheet`` reads a file into a ``Sheet`` of texts whose cells have places, ``selected`` selects rows by their cells,
and ``assembled`` finds options and metrics: a ``MeasuredTable`` with the runs of every configuration. ``infer_space``
infers a space from the columns of a table.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
