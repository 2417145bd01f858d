"""Where batches may run."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Batch, Job, MachineOption, setting_text
from hati.steering import CLASS


class Placement(Struct, frozen=True):
    """What batches need of machines, in addition to the subject's files.

    ``options`` are those whose settings a machine has to have. Repetition k of a configuration is run on the class k,
    modulo their number, of the ``classes``, and on any where there are none.
    """

    options: tuple[MachineOption, ...] = ()
    classes: tuple[str, ...] = ()

    def attributes(self, batch: Batch[Job]) -> tuple[tuple[str, str], ...]:
        """The attributes of a machine that can run all jobs of a batch, by name; its class is that of the first."""
        configurations = [job.task.configuration for job in batch.members]
        needed = {
            (each.attribute, setting_text(configuration[each.option]))
            for each in self.options
            for configuration in configurations
            if each.option in configuration
        }
        if self.classes:
            needed.add((CLASS, self.classes[batch.members[0].task.repetition % len(self.classes)]))
        return tuple(sorted(needed))


ANYWHERE = Placement()
