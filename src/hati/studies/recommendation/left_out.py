"""Why candidates are not recommended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hati.core import Setting
from hati.studies.recommendation.comparison import PairedChange
from hati.studies.recommendation.conclusion import KeptMetric, LeaveReason, LeftOut
from hati.studies.recommendation.judging import Judgement
from hati.studies.recommendation.rounds import FOLLOW_UP, Arm, Round, Settings


def without_runs(settings: Sequence[tuple[str, Setting]], reason: LeaveReason) -> Iterator[LeftOut]:
    """Each of some settings, left out for a reason that no run shows."""
    return (LeftOut((pair,), reason) for pair in settings)


def listed(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """Those of single settings, and those of several none of which is tried alone."""
    alone = {arm.settings[0] for arm in arms if len(arm.settings) == 1}
    return tuple(arm for arm in arms if len(arm.settings) == 1 or not alone & set(arm.settings))


def after_follow_up(judged: Judgement, arms: Sequence[Arm], each: Round, selected: Settings) -> Iterator[LeftOut]:
    """The arms of a complete follow-up that are not to be confirmed."""
    changes, options = judged.followed_up(each), {name for name, _ in selected}
    for arm in arms:
        if not set(arm.settings) <= set(selected):
            found = changes.get(arm.configuration)
            broken = judged.broken(arm.configuration, FOLLOW_UP)
            if found is None:
                reason = LeaveReason.NOT_MEASURED
            elif not judged.convincing(found, each.doubt):
                reason = LeaveReason.NO_GAIN
            elif broken:
                reason = LeaveReason.RULE_BROKEN
            elif judged.keep and not options.intersection(name for name, _ in arm.settings):
                reason = LeaveReason.RULE_BROKEN_TOGETHER
            else:
                reason = LeaveReason.ANOTHER_SETTING
            yield _measured(arm.settings, reason, found, broken if reason is LeaveReason.RULE_BROKEN else ())


def unfinished(judged: Judgement, arms: Sequence[Arm], each: Round) -> Iterator[LeftOut]:
    """All arms of a follow-up that is not complete: the budget has ended, or all runs failed."""
    failed = judged.evidence.failed and not judged.evidence.done
    reason = LeaveReason.NOT_MEASURED if failed else LeaveReason.UNFINISHED
    changes = judged.followed_up(each)
    for arm in arms:
        yield _measured(arm.settings, reason, changes.get(arm.configuration))


def after_round(judged: Judgement, each: Round, kept: Settings) -> Iterator[LeftOut]:
    """The settings of a round of confirmation that are dropped after it, ``kept`` being the others."""
    for place, pair in enumerate(each.settings):
        if pair not in kept:
            found = judged.compared(each.target, each.without[place], each.stage)
            broken = judged.broken(each.target, each.stage) if found and judged.convincing(found) else ()
            no_gain = LeaveReason.NO_GAIN_GIVEN_OTHERS if each.compared else LeaveReason.NO_GAIN
            rule = LeaveReason.RULE_BROKEN_TOGETHER if each.compared else LeaveReason.RULE_BROKEN
            reason = rule if broken else no_gain
            yield _measured((pair,), reason, found, broken)


def _measured(
    settings: Settings, reason: LeaveReason, found: PairedChange | None, broken: tuple[KeptMetric, ...] = ()
) -> LeftOut:
    if found is None:
        return LeftOut(settings, reason, broken=broken)
    return LeftOut(settings, reason, found.change, found.interval, found.pairs, broken)
