"""Where tasks run: on this machine, one at a time under a lock, or looked up in a table of measurements."""

from hati.engine.local import LocalEngine
from hati.engine.lock import MachineLock
from hati.engine.table import TableEngine

__all__ = ["LocalEngine", "MachineLock", "TableEngine"]
