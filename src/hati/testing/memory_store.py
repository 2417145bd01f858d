"""A store that forgets everything at the end of the process."""

from __future__ import annotations

from dataclasses import dataclass, field

from hati.core import Evidence, Run, StudyId


@dataclass
class MemoryStore:
    """Keeps runs in a list; fills ``hati.core.Store``."""

    kept: list[Run] = field(default_factory=list)

    def record(self, run: Run) -> bool:
        """Keep a run; False where its task had one already."""
        if any(run.task.id == known.task.id for known in self.kept):
            return False
        self.kept.append(run)
        return True

    def evidence(self, study: StudyId) -> Evidence:
        """All runs of a study, in the order in which they were recorded."""
        return Evidence(tuple(run for run in self.kept if run.task.study == study.key))
