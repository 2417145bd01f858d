"""That a screening is concluded on what was run before it was known what does not work."""

from __future__ import annotations

from hati.core.wording import counted
from hati.studies.screening.model_choice import PARTIAL, ModelChoice


def partial_warnings(choice: ModelChoice) -> tuple[str, ...]:
    """Where the budget that was left did not suffice for a design without what does not work."""
    if choice.kind != PARTIAL:
        return ()
    return (
        "the runs that were left are too few for a design without what does not work: effects are estimated from the "
        f"{counted(choice.configurations, 'configuration')} that had been run; give a larger budget",
    )
