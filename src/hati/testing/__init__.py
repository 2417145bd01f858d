"""Fakes and conformance suites for authors of engines and stores; never imported by the rest of Hati.

The suites are imported by name: ``hati.testing.conformance``, ``hati.testing.ledgers``.
"""

from hati.testing.fakes import FakeEngine, FakeMachines, MemoryStore

__all__ = ["FakeEngine", "FakeMachines", "MemoryStore"]
