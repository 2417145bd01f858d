"""Fakes and conformance suites for those who write engines and stores; never imported by the rest of Hati.

The suites are imported by name: ``hati.testing.engine_conformance``, ``hati.testing.store_conformance``.
"""

from hati.testing.fakes import FakeEngine
from hati.testing.memory_store import MemoryStore

__all__ = ["FakeEngine", "MemoryStore"]
