"""What a check of a space found, as a table."""

from __future__ import annotations

from hati.core import setting_text
from hati.core.wording import counted
from hati.report.table import Cell, Column, Table
from hati.space import Diagnosis, Space


def diagnosis_table(space: Space, diagnosis: Diagnosis) -> Table:
    """A row for each finding; without any, a note that all is well."""
    rows: list[tuple[Cell, ...]] = [
        *(("contradiction", str(formula), "remove or change one of these") for formula in diagnosis.contradiction),
        *(("default not valid", str(formula), "change a default, or this") for formula in diagnosis.violated),
        *(("never active", name, "its active_if cannot hold") for name in diagnosis.never_active),
        *(("dead setting", f"{name} = {setting_text(s)}", "no configuration has it") for name, s in diagnosis.dead),
        *(("forced", f"{name} = {setting_text(s)}", "it has no other choice") for name, s in diagnosis.forced),
    ]
    size = f"{counted(len(space.options), 'option')}, {counted(len(space.constraints), 'constraint')}"
    notes = [f"{size}: {'nothing is wrong' if diagnosis.sound else 'see above'}."]
    if diagnosis.undecided:
        notes.append(f"Undecided within the bound of steps: {diagnosis.undecided}.")
    return Table("Space", (Column("finding"), Column("what"), Column("meaning")), tuple(rows), tuple(notes))
