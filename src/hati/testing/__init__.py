"""Fakes and conformance suites for authors of engines and kinds of studies; never imported by the rest of Hati.

The suites are imported by name, from ``hati.testing.conformance``.
"""

from hati.testing.fakes import FakeEngine, FakeMachines, MemoryStore

__all__ = ["FakeEngine", "FakeMachines", "MemoryStore"]
