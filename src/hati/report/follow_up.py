"""The follow-up of a screening: what flips of single options say of what the design's rows show."""

from __future__ import annotations

from hati.core import setting_text
from hati.core.wording import counted, listed
from hati.report.plain import Plain
from hati.report.quantities import change_number
from hati.report.table import Align, Column, Shown, Table
from hati.studies.screening import Effect, FlipEvidence, FlipVerdict, ScreeningConclusion

_NAMED = 4


def follow_up_table(conclusion: ScreeningConclusion) -> Table | None:
    """What the flips of each option say; None where none was flipped."""
    found = flipped_options(conclusion)
    if not found:
        return None
    notes = [
        "A flip is two runs of a configuration drawn at random that differ in this option alone. "
        "Claimed: what the design's rows show. Interval: of the average effect over all configurations, by the flips "
        "and by what the design's model expects in theirs.",
    ]
    if any(each.verdict is FlipVerdict.REFUTED for each in found):
        notes.append("Refuted: flips do not show the effect and contradict what is claimed. It counts as not shown.")
    notes += [
        f"The effect of {each.option} depends on {each.depends_on}: flips change {conclusion.metric.name} both ways."
        for each in found
        if each.depends_on
    ]
    notes += [
        f"The flips of {each.option} do not show the effect, of which the design's rows leave little doubt: it may be "
        "absent in most configurations."
        for each in found
        if each.verdict is FlipVerdict.MISSED
    ]
    given_up = conclusion.follow_up.given_up if conclusion.follow_up else ()
    flipped = {*(each.option for each in found), *given_up}
    others = [name for name in conclusion.important if name not in flipped]
    if others:
        notes.append(f"Not flipped, as the runs kept for this did not suffice: {listed(others, _NAMED)}.")
    right = Align.RIGHT
    return Table(
        f"Follow-up of effects on {conclusion.metric.name}",
        (
            Column("flips of"),
            Column("number", None, right),
            Column("claimed", "%", right),
            Column("change", "%", right),
            Column("99 % interval", "%", right),
            Column("claim"),
        ),
        tuple(
            (
                f"{each.option}: {' -> '.join(map(setting_text, each.ends))}",
                each.flips,
                Shown(change_number(each.claimed), 100 * each.claimed),
                Shown(change_number(each.change), 100 * each.change),
                _interval(each),
                each.verdict.value,
            )
            for each in found
        ),
        tuple(notes),
    )


def flipped_options(conclusion: ScreeningConclusion) -> tuple[FlipEvidence, ...]:
    """The evidence of flips, in the order of the effects."""
    return tuple(effect.flips for effect in conclusion.effects if effect.flips is not None)


def refuted_sentence(conclusion: ScreeningConclusion) -> str:
    """Which options the follow-up refutes; empty where there are none."""
    names = [each.option for each in flipped_options(conclusion) if each.verdict is FlipVerdict.REFUTED]
    if not names:
        return ""
    return f"Flips refute {counted(len(names), 'effect')} of the design's rows: {listed(names, _NAMED)}."


def follow_up_json(conclusion: ScreeningConclusion) -> dict[str, Plain] | None:
    """How many runs the follow-up has, and whose flips ended early; None where none was set aside."""
    made = conclusion.follow_up
    return None if made is None else {"planned": made.planned, "done": made.done, "given_up": list(made.given_up)}


def evidence_json(conclusion: ScreeningConclusion, effect: Effect) -> dict[str, Plain]:
    """What supports the verdict on an effect; null what only flips tell where there are none."""
    flips = effect.flips
    rows = conclusion.done - (conclusion.follow_up.done if conclusion.follow_up else 0)
    return {
        "design_rows": rows,
        "flips": 0 if flips is None else flips.flips,
        "claimed": None if flips is None else flips.claimed,
        "flip_change": None if flips is None else flips.change,
        "flip_interval": None if flips is None or flips.interval is None else list(flips.interval),
        "refuted": flips is not None and flips.verdict is FlipVerdict.REFUTED,
        "missed": flips is not None and flips.verdict is FlipVerdict.MISSED,
        "depends_on": (flips.depends_on or None) if flips is not None else None,
    }


def _interval(found: FlipEvidence) -> Shown | None:
    if found.interval is None:
        return None
    text = f"{change_number(found.interval[0])} to {change_number(found.interval[1])}"
    return Shown(text, text)
