"""Readers of a benchmark's output: bytes in, observations out.

A reader finds readings (a metric's values, their places and marks); ``read`` converts them to the observations of the
benchmark's metrics, in their units, with their warm-up marked.
"""

from hati.subject.readers.assemble import check_reader, read, unsettled
from hati.subject.readers.patterns import OUTPUT, Reading

__all__ = ["OUTPUT", "Reading", "check_reader", "read", "unsettled"]
