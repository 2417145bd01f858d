"""Which commits made it slower: revisions between a good and a bad one are measured, each only as long as it takes.

Every probe is measured beside the good revision, in pairs, until it is clear on which side of it changes lie. An
interval is split where its ends differ; both halves are followed where both have a part of the change that matters.
"""

from hati.studies.bisection.conclusion import BisectionConclusion, Culprit
from hati.studies.bisection.study import Bisection, bisection_id

__all__ = ["Bisection", "BisectionConclusion", "Culprit", "bisection_id"]
