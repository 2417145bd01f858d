"""The runs that a screening may make after those of its design."""

from __future__ import annotations

from hati.core.wording import counted
from hati.studies.screening import AnyChoice, ModelChoice


def runs_after_design(choice: AnyChoice) -> tuple[str, ...]:
    """How many flips and repeats of suspect runs there may be, in a sentence; none where there can be neither."""
    if isinstance(choice, ModelChoice) and choice.follow_up:
        repeats = [(choice.again, "suspect runs"), (choice.flips_held_back, "suspect flips")]
        listed = " and ".join(f"up to {number} for repeats of {what}" for number, what in repeats if number)
        within = f", of which {listed}" if listed else ""
        return (f"After the design: up to {counted(choice.follow_up, 'run')} of flips{within}.",)
    if isinstance(choice, ModelChoice) and choice.held_back:
        held_back = counted(choice.held_back, "run")
        return (f"The last {held_back} of the design are replaced by repeats where a run is suspect.",)
    if choice.again:
        return (f"After the design: up to {counted(choice.again, 'repeat')} of suspect runs.",)
    return ()
