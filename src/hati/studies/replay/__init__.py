"""The past replayed: revisions of a line measured now, over the configurations that stand for a space.

Their series go to the change points and trends of ``studies.regression``.
"""

from hati.studies.replay.measured import Affected, Replayed, RevisionSpread, Skipped, affected_strata
from hati.studies.replay.study import Replay, ReplayOrder, replay_id

__all__ = ["Affected", "Replay", "ReplayOrder", "Replayed", "RevisionSpread", "Skipped", "affected_strata", "replay_id"]
