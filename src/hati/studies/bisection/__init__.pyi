from .study import Bisection as Bisection
from .study import BisectionConclusion as BisectionConclusion
from .study import ProbeSide as ProbeSide
from .study import RevisionLevels as RevisionLevels
from .study import bisection_id as bisection_id
from .study import stage as stage
