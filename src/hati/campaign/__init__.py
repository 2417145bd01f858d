"""The one loop: a study plans, an engine runs, a store keeps, until the study has enough.

It knows studies, engines and stores by their ports only.
"""

from hati.campaign.loop import Observer, campaign, silent

__all__ = ["Observer", "campaign", "silent"]
