"""Which commits made it slower: revisions between a good and a bad one are measured, each only as long as it takes.

Every probe is measured together with the good revision, in pairs, until changes are located on one side of it. An
"""

from hati.studies.bisection.conclusion import BisectionConclusion, Culprit
from hati.studies.bisection.study import Bisection, bisection_id

__all__ = ["Bisection", "BisectionConclusion", "Culprit", "bisection_id"]
