"""The stages of a follow-up: one for each option that is flipped."""

from __future__ import annotations

from hati.core import Task
from hati.studies.screening.reruns import run_key

STAGE = "follow-up"
"""The first word of their names, before the option's."""


def flip_stage(option: str) -> str:
    """The stage of an option's flips."""
    return f"{STAGE} {option}"


def is_flip(task: Task) -> bool:
    """Whether a task follows up."""
    return task.stage.startswith(f"{STAGE} ")


def is_of_flip(task: Task) -> bool:
    """Whether a task follows up, or repeats one that does."""
    return run_key(task)[0].startswith(f"{STAGE} ")
