"""What a design will find, in a sentence before it starts."""

from __future__ import annotations

from hati.report.quantities import percent
from hati.studies.screening import AnyChoice, expected_detectable, expected_detectable_deviations


def promise(choice: AnyChoice, noise: float | None, relevant: float) -> str:
    """For a noise that a few pilot runs suggest: the standard deviation of a run as a fraction, None where unknown."""
    found = None if noise is None else expected_detectable(choice, noise, relevant=relevant)
    if found is None:
        return promise_in_deviations(choice)
    return (
        f"it will find effects of about {percent(found, 2)} with 80 % power; "
        "about, because a few pilot runs tell the noise to within a factor of a few"
    )


def promise_in_deviations(choice: AnyChoice) -> str:
    """For a noise that nothing is known of yet."""
    found = expected_detectable_deviations(choice)
    if found is None:
        return "so few runs cannot tell effects from noise: none will be called important"
    return f"it will find effects of {found:.2g} standard deviations of a run with 80 % power"
