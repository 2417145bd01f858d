"""How often a comparison errs where nothing changed, and what it finds: measured on runs that there are.

The runs of one thing are split in halves, again and again, and the halves compared as two samples are.
"""

from hati.studies.audit.auditing import AuditSettings, audit
from hati.studies.audit.conclusion import (
    Audit,
    AuditedBenchmark,
    ClusterAlarms,
    Directions,
    InTime,
    RecommendedStatistic,
    StatisticSensitivity,
)

__all__ = [
    "Audit",
    "AuditSettings",
    "AuditedBenchmark",
    "ClusterAlarms",
    "Directions",
    "InTime",
    "RecommendedStatistic",
    "StatisticSensitivity",
    "audit",
]
