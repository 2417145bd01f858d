"""Two variants measured now, in pairs of interleaved runs: until it is decided, or a limit is reached.

The differences of pairs are tested: slow changes of a machine cancel in them.
"""

from hati.studies.paired.study import (
    PairedComparison,
    PairedConclusion,
    PairedDesign,
    Variant,
    Weighed,
    paired_id,
    shared_metrics,
)

__all__ = ["PairedComparison", "PairedConclusion", "PairedDesign", "Variant", "Weighed", "paired_id", "shared_metrics"]
