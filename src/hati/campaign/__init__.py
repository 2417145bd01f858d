"""The one loop: a study plans, an engine runs, a store keeps, until the study has enough.

It knows studies, engines and stores by their ports only.
"""

from hati.campaign.dispatcher import Dispatcher, JobMaker
from hati.campaign.loop import Observer, campaign, silent
from hati.campaign.releases import ReleaseOrder

__all__ = ["Dispatcher", "JobMaker", "Observer", "ReleaseOrder", "campaign", "silent"]
