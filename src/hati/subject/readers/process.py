"""Reader ``process``: what the operating system says of the command's process tree.

Peak memory is the largest single process's, or the largest sum over the tree where that is more: sums are
looked at every 20 ms (a short run of several processes may be underestimated) and count shared pages once for
each process. It is never below about 11 MiB: the kernel lets a new program inherit the peak of the small
Python process that starts it. Processes that their parent neither waits for nor outlives are counted as well;
those whose parent ignores SIGCHLD are not, because the kernel throws their account away.
"""

from __future__ import annotations

import numpy as np

from hati.core import Place, Resources
from hati.subject.readers.reading import Reading

UNITS = {"wall_time": "s", "user_time": "s", "system_time": "s", "cpu_time": "s", "peak_memory": "B"}
"""The metrics that there are, and the units in which they are known."""


def read_process(resources: Resources) -> list[Reading]:
    """One reading, one figure for the whole run, of each metric that the system tells."""
    place = Place("the process")
    return [
        Reading(metric, np.array([getattr(resources, metric)], dtype=np.float64), place, unit, per_run=True)
        for metric, unit in UNITS.items()
    ]
