"""Fakes and conformance suites for those who write engines and stores; never imported by the rest of Hati.

The suites are imported by name: ``hati.testing.conformance``, ``hati.testing.conformance``.
"""

from hati.testing.fakes import FakeEngine, FakeMachines, MemoryStore

__all__ = ["FakeEngine", "FakeMachines", "MemoryStore"]
