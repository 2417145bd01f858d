"""What a design will find, in a sentence before it starts."""

from __future__ import annotations

from hati.report.quantities import percent
from hati.studies.screening import AnyChoice, Outlook, expected_detectable_deviations


def promise(choice: AnyChoice, found: float | None, source: str) -> str:
    """For the smallest effect that is expected to be found, a fraction, by what ``source`` says of the variation."""
    if found is None:
        return promise_in_deviations(choice)
    return f"it will find effects of about {percent(found, 2)} with 80 % power, as far as {source}"


def least_promise(least: float, pilots: int, check: int) -> str:
    """For effects, as fractions, that will be found if options do not interact, where nothing is known of that."""
    return (
        f"it will find effects of about {percent(least, 2)} with 80 % power if options do not interact: "
        f"{pilots:,} pilot runs do not show whether they do; {check:,} runs of the design will"
    )


def vague_promise(least: float, most: float, pilots: int, check: int) -> str:
    """For effects, as fractions, that will be found if options do not interact, and if most of what varies is that."""
    return (
        f"it will find effects of {percent(least, 2)} (if options do not interact) to {percent(most, 2)} with 80 % "
        f"power: {pilots:,} pilot runs do not show which; {check:,} runs of the design will"
    )


def corrected_promise(found: Outlook, before: float | None) -> str:
    """What a screening will find by its own runs, where something else or nothing was promised; else nothing."""
    runs = f"after {found.runs:,} of {found.planned:,} runs"
    size = f"effects of about {percent(found.detectable, 2)} with 80 % power"
    varies = f"configurations vary by {percent(found.deviation, 2)} about the effects found so far"
    if before is None:
        return f"{runs}: it will find {size}; {varies}"
    if found.misses(before):
        return f"{runs}: it may miss effects of {percent(before, 2)}; it will find {size}; {varies}"
    if found.surpasses(before):
        return f"{runs}: it will find {size}, not only of {percent(before, 2)}"
    return ""


def promise_in_deviations(choice: AnyChoice) -> str:
    """For a noise that nothing is known of yet."""
    found = expected_detectable_deviations(choice)
    if found is None:
        return "too few runs to distinguish effects from noise: none will be called important"
    size = f"{found:.2g}"
    unit = "standard deviation" if size == "1" else "standard deviations"
    return f"it will find effects of {size} {unit} of a run with 80 % power"
