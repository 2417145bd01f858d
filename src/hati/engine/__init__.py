"""Where tasks run: for now on this machine, one at a time under a lock."""

from hati.engine.local import LocalEngine
from hati.engine.lock import MachineLock

__all__ = ["LocalEngine", "MachineLock"]
