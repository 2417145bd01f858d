"""The study: candidates are followed up against the default, then each setting is confirmed by interleaved runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from hati.core import Benchmark, Configuration, Evidence, Metric, Plan, Setting, StudyId, Task, replace
from hati.core.requests import USUAL_SEED
from hati.space import Space, template_texts
from hati.studies.command_line import CommandLine
from hati.studies.recommendation.better_settings import is_allowed, reached
from hati.studies.recommendation.conclusion import (
    FEWEST_BLOCKS,
    FEWEST_PAIRS,
    RULES_VERSION,
    FollowedUp,
    KeepRule,
    LeaveReason,
    LeftOut,
    RecommendationConclusion,
    RecommendationPlan,
    Recommended,
    rules_of,
)
from hati.studies.recommendation.judging import (
    CONFIDENCE,
    FOLLOW_UP,
    STAGE,
    Arm,
    GainJudgement,
    Round,
    RoundStep,
    Settings,
    after_follow_up,
    after_round,
    listed,
    unfinished,
    without_runs,
)
from hati.studies.schedule import failure_reasons, limit_until_first_success, tasks_without_run
from hati.studies.screening.planning.models import ALPHA, RELEVANT

MOST_ROUNDS = 4
"""The most rounds of confirmation."""

_FOLLOW_UP_PART = 0.4
_ROUND_PART = 0.4
_MOST_OF_LEFT = 0.6
"""A round after which settings may be dropped takes ``_ROUND_PART`` of the runs left, at most ``_MOST_OF_LEFT``."""
_MOST_BLOCKS = 10
_SELECTED_BY_CHANCE = 0.2
"""The most probability that a follow-up selects a candidate if nothing gains; selected ones are then confirmed."""
_CLEARLY = 0.01
"""The error with which a setting alone is better in the follow-up, so that it is not dropped with others."""
_SHORTFALL = 0.5
_NO_ERROR_LEFT = 1e-9
_SHORT = 12
_LARGEST_GAIN = 3
"""The first version of the rules that confirms the largest gain where no follow-up is possible, and not the first."""
_NONE: Settings = ()


def recommendation_command(
    command: CommandLine,
    metric: str,
    template: Iterable[str],
    budget: str,
    *,
    relevant: float,
    seed: int,
    keep: Iterable[str],
    alpha: float = ALPHA,
) -> str:
    """The command that recommends settings; values that a command has without them are left out."""
    restricted = (word for text in template for word in ("--set", text))
    sizes = (("--relevant", relevant, RELEVANT), ("--alpha", alpha, ALPHA))
    shares = (word for name, own, usual in sizes if own != usual for word in (name, f"{100 * own:g}%"))
    random = () if seed == USUAL_SEED else ("--seed", str(seed))
    kept = (word for text in keep for word in ("--keep", text))
    return command.screen("--metric", metric, *restricted, "--recommend", "--budget", budget, *shares, *random, *kept)


class Recommendation(Struct, frozen=True, dict=True):
    """Follows up candidates, then confirms a configuration by each of its settings, in randomised blocks.

    First, single settings that may be better than the baseline's, and the predicted best configuration, run against the
    baseline: as many as a part of the runs allows, then the next ones until one is better. The settings that are better
    there are confirmed by fresh runs: the configuration against the baseline, and against itself without each setting.
    A setting without a confirmed gain is left out, and the rest is confirmed by fresh runs again, or the next
    candidates are followed up; if the budget ends before that, one of two settings may be confirmed alone. If none is
    left to follow up, the largest gain is confirmed that a follow-up found but could not show, or that is predicted.
    The rounds share the error: each round after which settings may be dropped spends half of the rest. A round is
    judged once, after its last run or when the time for the runs is spent; nothing is confirmed before.

    ``metrics`` has the requested one first. ``looked_up`` is true if runs come from a table that has each once.
    ``relevant`` is the fraction below which a gain does not matter; ``keep`` are rules that have to be shown, too.
    ``screened_revision`` is the revision of the screening; ``command`` screens the same subject.
    """

    id: StudyId
    screening: str
    subject: str
    benchmark: Benchmark
    metrics: tuple[Metric, ...]
    revision: str
    space: Space
    wanted: RecommendationPlan
    looked_up: bool
    relevant: float = 0.0
    keep: tuple[KeepRule, ...] = ()
    screened_revision: str = ""
    command: CommandLine = CommandLine()

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks left of the first incomplete round; at most five before a run has worked."""
        for each in self.rounds(evidence):
            if left := tasks_without_run(self.tasks(each), evidence):
                return limit_until_first_success(Plan.of(left), evidence)
        return Plan()

    def tasks(self, each: Round) -> tuple[Task, ...]:
        """All runs of a round in order: in each block every configuration once, in an order drawn for it."""
        rng = self.id.order(each.stage, str(each.first))
        return tuple(
            self._task(each.stage, each.configurations[int(i)], each.first + block)
            for block in range(each.blocks)
            for i in rng.permutation(len(each.configurations))
        )

    def rounds(self, evidence: Evidence) -> Iterator[Round]:
        """The rounds as far as they are decided; the last one may be incomplete."""
        return (step.round for step in self._steps(evidence))

    def conclude(self, evidence: Evidence) -> RecommendationConclusion:
        """The confirmed recommendation, complete or not.

        Raises:
            InputError: if a run's unit cannot be converted to the metric's.
        """
        found, steps = self._judgement(evidence), list(self._steps(evidence))
        confirming = [step.round for step in steps if step.round.stage != FOLLOW_UP]
        begun = [each for each in confirming if any(run.task.stage == each.stage for run in evidence.runs)]
        last = (begun or confirming)[-1:]
        recommended = tuple(found.recommended(each) for each in last)
        whole = tuple(found.whole(each) for each in last)
        return RecommendationConclusion(
            study=self.id.key,
            screening=self.screening,
            subject=self.subject,
            metric=self.metrics[0],
            baseline=self.wanted.baseline,
            recommended=recommended,
            looked_up=self.looked_up,
            pairs=last[0].blocks if last else 0,
            planned=len(self._asked(step.round for step in steps)),
            done=len(evidence.done),
            failed=len(evidence.failed),
            failures=failure_reasons(evidence.failed, self.metrics[0]),
            seconds=evidence.seconds,
            warnings=self._warnings(last),
            followed_up=tuple(self._followed_up(steps, found)),
            instead_of=tuple(one for one in whole if one not in recommended),
            left_out=self._left_out(steps, last, recommended, found),
            pending=steps[-1].round.pending if steps else 0,
            command=self._command,
        )

    def _steps(self, evidence: Evidence) -> Iterator[RoundStep]:
        """The rounds as far as they are decided, and the settings that each leaves to be confirmed.

        If the runs do not suffice to follow up several arms, the settings with the largest gain are confirmed at once;
        without a follow-up, settings with a predicted loss are not.
        """
        left, alpha = self.wanted.runs, 1.0 - CONFIDENCE
        waiting, settings, number = self._arms, _NONE, 1
        followed, rounds = list[Round](), list[Round]()
        while alpha > _NO_ERROR_LEFT:
            first = sum(one.blocks for one in followed)
            each = self._follow_up(waiting, left, first) if waiting and not settings else None
            if each is None:
                if not settings:
                    settings, waiting = self._alone(waiting, rounds, evidence)
                each = self._confirmation(number, settings, left, alpha, waiting)
            if each is None:
                return
            step = self._step(each, settings, followed, evidence)
            yield step
            if step.after is None:
                return
            rounds, settings = [*rounds, each], step.after
            left = self.wanted.runs - len(self._asked(rounds))
            if each.stage == FOLLOW_UP:
                followed.append(each)
                waiting = tuple(arm for arm in waiting if arm.configuration not in each.configurations)
            else:
                alpha, number = alpha - each.alpha, number + 1

    def _alone(
        self, waiting: tuple[Arm, ...], rounds: Sequence[Round], evidence: Evidence
    ) -> tuple[Settings, tuple[Arm, ...]]:
        """The settings to confirm where no follow-up is possible, and the arms that then wait."""
        if rules_of(self.id) < _LARGEST_GAIN:
            return (waiting[0].settings, waiting[1:]) if waiting else (_NONE, ())
        promising = tuple(arm for arm in waiting if self._predicted[arm.configuration] >= 0.0)
        settings = self._most_promising(promising, rounds, evidence)
        return settings, tuple(arm for arm in promising if arm.settings != settings)

    def _most_promising(self, waiting: Sequence[Arm], rounds: Sequence[Round], evidence: Evidence) -> Settings:
        """The settings with the largest gain that no round confirmed yet; none if there are none.

        Gains are predicted for arms without runs, and measured for arms of a follow-up that chance rarely explains.
        """
        judged = self._judgement(evidence)
        gains = {arm.settings: self._predicted[arm.configuration] for arm in waiting}
        asked = {pair for each in rounds for pair in each.settings}
        for each in (one for one in rounds if one.stage == FOLLOW_UP):
            changes = judged.followed_up(each)
            for arm in self._tried(each):
                found = changes.get(arm.configuration)
                possible = found is not None and judged.convincing(found) and not set(arm.settings) <= asked
                if found is not None and possible and not judged.broken(arm.configuration, FOLLOW_UP):
                    gains[arm.settings] = judged.sign * found.middle
        return max(gains, key=lambda settings: gains[settings], default=_NONE)

    def _asked(self, rounds: Iterable[Round]) -> frozenset[str]:
        """The ids of the tasks of rounds; a table has each configuration once, the baseline over all rounds."""
        return frozenset(task.id for each in rounds for task in self.tasks(each))

    def _step(self, each: Round, settings: Settings, followed: Sequence[Round], evidence: Evidence) -> RoundStep:
        judged = self._judgement(evidence)
        each = replace(each, pending=self._pending(each, evidence))
        if not self._complete(each, evidence):
            return RoundStep(each, settings, None)
        if each.stage == FOLLOW_UP:
            return RoundStep(each, settings, self._selected(each, judged))
        return RoundStep(each, settings, self._reduced(each, settings, followed, judged))

    @cached_property
    def _arms(self) -> tuple[Arm, ...]:
        """The predicted configuration if it is not a candidate itself, then the candidates."""
        tried = tuple(Arm(((one.option, one.setting),), one.configuration) for one in self.wanted.candidates)
        settings = self._judgement(Evidence()).settings
        best = [Arm(settings(one.configuration), one.configuration) for one in self.wanted.recommended]
        known = {arm.configuration for arm in tried}
        return (*(arm for arm in best if arm.configuration not in known), *tried)

    @cached_property
    def _predicted(self) -> dict[Configuration, float]:
        """The predicted gain of each arm's configuration, below 0 for a loss."""
        sign, metric = self._judgement(Evidence()).sign, self.metrics[0].name
        best = {one.configuration: sign * (one.changes.get(metric) or 0.0) for one in self.wanted.recommended}
        return best | {one.configuration: one.gain for one in self.wanted.candidates}

    def _follow_up(self, arms: tuple[Arm, ...], runs: int, first: int) -> Round | None:
        """A follow-up of the first arms, as many as a part of the runs allows; None if this is only one."""
        part, most = int(_FOLLOW_UP_PART * runs), min(_MOST_BLOCKS, self.wanted.pairs)
        blocks = min(most, max(FEWEST_BLOCKS, part // (len(arms) + 1)))
        arms = arms[: max(0, part // blocks - 1)]
        if len(arms) < 2:
            return None
        configurations = dict.fromkeys((self.wanted.baseline, *(arm.configuration for arm in arms)))
        first = 0 if self.looked_up else first  # a table has no further runs
        return Round(FOLLOW_UP, tuple(configurations), blocks, alpha=_SELECTED_BY_CHANCE, first=first)

    def _selected(self, each: Round, judged: GainJudgement) -> Settings:
        """The settings to confirm: all that are better alone, the best first, as far as they keep the rules together.

        The prediction's settings are added if its gain exceeds the sum of their gains alone by half.
        """
        gains: dict[Settings, float] = {}
        changes = judged.followed_up(each)
        for arm in self._tried(each):
            found = changes.get(arm.configuration)
            convincing = found is not None and judged.convincing(found, each.doubt)
            if found is not None and convincing and not judged.broken(arm.configuration, each.stage):
                gains[arm.settings] = judged.sign * found.middle
        alone: dict[str, tuple[float, Setting]] = {}
        for settings, gain in gains.items():
            (name, setting), *others = settings
            if not others and gain > alone.get(name, (0.0, setting))[0]:
                alone[name] = gain, setting
        chosen = {name: setting for name, (_, setting) in alone.items()}
        for together in (settings for settings in gains if len(settings) > 1):
            expected = sum(alone[name][0] for name, setting in together if chosen.get(name) == setting)
            if gains[together] > (1.0 + _SHORTFALL) * expected:
                chosen |= dict(together)
        best_first = tuple(sorted(chosen.items(), key=lambda pair: (-alone.get(pair[0], (0.0, None))[0], pair[0])))
        return self._keeping(best_first, gains, each, judged)

    def _keeping(
        self, best_first: Settings, gains: dict[Settings, float], each: Round, judged: GainJudgement
    ) -> Settings:
        """As many of the settings, then of others that gain, as are expected to keep the rules together.

        Settings that were run together and kept the rules are taken instead if they gain more.
        """
        arms = self._tried(each)
        if judged.holds_together(best_first, arms, each.stage):
            return best_first
        others = sorted((own for own in gains if len(own) == 1), key=lambda own: -gains[own])
        kept: Settings = ()
        for pair in (*best_first, *(own[0] for own in others)):
            free = pair[0] not in {name for name, _ in kept}
            if free and judged.holds_together((*kept, pair), arms, each.stage):
                kept = (*kept, pair)
        together = max((own for own in gains if len(own) > 1), key=lambda own: gains[own], default=())
        expected = sum(gains.get((pair,), 0.0) for pair in kept)
        return together if together and gains[together] > expected else kept

    def _confirmation(
        self, number: int, settings: Settings, left: int, alpha: float, waiting: tuple[Arm, ...]
    ) -> Round | None:
        """A round for the first of the settings that the runs left allow; None if there is nothing to confirm.

        It takes a part of the runs and of the error if settings may be dropped after it, or if others are waiting that
        the rest of the runs could confirm; otherwise it takes all of both.
        """
        stage = STAGE if number == 1 else f"{STAGE}-{number}"
        for count in range(len(settings), 0, -1):
            chosen = self._allowed_together(settings[:count])
            target = self._with(chosen)
            if target is None:
                continue
            own = tuple(pair for pair in chosen if target.get(pair[0]) == pair[1])
            without = ((pair, self._with(tuple(other for other in own if other != pair))) for pair in own)
            needed = [(pair, less) for pair, less in without if less is not None and less != target]
            if not needed or target == self.wanted.baseline:
                continue
            reduced = tuple(less for _, less in needed)
            configurations = tuple(dict.fromkeys((self.wanted.baseline, target, *reduced)))
            confirmed, fewest = tuple(pair for pair, _ in needed), min(FEWEST_PAIRS, self.wanted.pairs)
            blocks = min(self.wanted.pairs, max(fewest, int(_ROUND_PART * left) // len(configurations)))
            affordable = blocks * len(configurations) <= _MOST_OF_LEFT * left
            rest = left - blocks * len(configurations)
            others = len(needed) > 1 or ((count < len(settings) or waiting) and rest >= 2 * fewest)
            if affordable and others and number < MOST_ROUNDS:
                return Round(stage, configurations, blocks, confirmed, reduced, alpha / 2.0)
            blocks = min(self.wanted.pairs, left // len(configurations))
            if blocks >= fewest or (count == 1 and blocks > 0):
                return Round(stage, configurations, blocks, confirmed, reduced, alpha)
        return None

    def _reduced(
        self, each: Round, settings: Settings, followed: Sequence[Round], judged: GainJudgement
    ) -> Settings | None:
        """The settings of the next round; None if everything is confirmed or no run could decide more.

        Settings whose gain could be noise are dropped, but not all of those that do the same thing and so have no gain
        given each other. Otherwise the setting that does most harm to a rule broken by the means is dropped; otherwise
        all stay, and more runs decide. If none of the round's settings is left, those for which it had no runs follow.
        """
        found = judged.whole(each)
        if found.confirmed:
            return None
        gains = {name: judged.gain_of(each, place) for place, (name, _) in enumerate(each.settings)}
        doubted = {name for name, (_, convincing) in gains.items() if not convincing}
        broken = [kept.rule for kept in found.kept if not kept.held]
        if doubted and len(each.settings) > 1:
            doubted -= self._missed_without(doubted, each, followed, judged)
        elif broken and not doubted:
            doubted = {judged.worst_for(broken[0], each)}
        elif not doubted and self.wanted.pairs == 1:
            return None
        kept = tuple(pair for pair in each.settings if pair[0] not in doubted)
        return kept or tuple(pair for pair in settings if pair not in each.settings)

    def _missed_without(
        self, doubted: set[str], each: Round, followed: Sequence[Round], judged: GainJudgement
    ) -> set[str]:
        """The doubted option that was clearly best alone, if the gain of all settings falls short without it."""
        changes = {key: change for one in followed for key, change in judged.followed_up(one).items()}
        alone: dict[str, float] = {}
        left: dict[str, float] = {}
        for one in self.wanted.candidates:
            found = changes.get(one.configuration)
            if found is not None and (one.option, one.setting) in each.settings:
                alone[one.option] = judged.sign * found.middle
                if one.option in doubted and found.shown(_CLEARLY):
                    left[one.option] = alone[one.option]
        whole = judged.against_baseline(each.target, each.stage)
        if not left or whole is None:
            return set()
        best = max(left, key=lambda name: left[name])
        short = judged.sign * whole.middle - sum(gain for name, gain in alone.items() if name not in doubted)
        return {best} if short > _SHORTFALL * left[best] else set()

    def _followed_up(self, steps: list[RoundStep], judged: GainJudgement) -> Iterator[FollowedUp]:
        for step in (one for one in steps if one.round.stage == FOLLOW_UP):
            changes = judged.followed_up(step.round)
            for arm in self._tried(step.round):
                found = changes.get(arm.configuration)
                change, pairs = (None, 0) if found is None else (found.change, found.pairs)
                yield FollowedUp(arm.settings, change, pairs, set(arm.settings) <= set(step.after or ()))

    def _left_out(
        self, steps: list[RoundStep], last: list[Round], recommended: tuple[Recommended, ...], judged: GainJudgement
    ) -> tuple[LeftOut, ...]:
        """The candidates that are not recommended: those without runs, then the others in the order of decisions."""
        offered = {pair for one in recommended for pair in one.set}
        found = {one.set: one for one in self._dropped(steps, last, recommended, judged)}  # the last reason counts
        return tuple(one for one in found.values() if not set(one.set) <= offered)

    def _dropped(
        self, steps: list[RoundStep], last: list[Round], recommended: tuple[Recommended, ...], judged: GainJudgement
    ) -> Iterator[LeftOut]:
        arms = listed(self._arms)
        begun = {pair for step in steps for pair in (*step.before, *(step.after or ()))}
        run = {configuration for step in steps for configuration in step.round.configurations}
        untried = [arm for arm in arms if arm.configuration not in run and not set(arm.settings) <= begun]
        yield from without_runs([(one.option, one.setting) for one in self.wanted.ruled_out], LeaveReason.RULED_OUT)
        yield from without_runs([pair for arm in untried for pair in arm.settings], LeaveReason.NOT_TRIED)
        for step in steps:
            own = [arm for arm in arms if arm.configuration in step.round.configurations]
            if step.round.stage == FOLLOW_UP and step.after is None:
                yield from unfinished(judged, own, step.round)
            elif step.round.stage == FOLLOW_UP:
                yield from after_follow_up(judged, own, step.round, step.after or ())
                yield from without_runs(step.after or (), LeaveReason.NOT_CONFIRMED)
            elif [step.round] == last or step.after is not None:
                yield from self._unused(step.round, step.before)
                kept = recommended[0].set if [step.round] == last else step.after or ()
                yield from after_round(judged, step.round, kept)

    def _unused(self, each: Round, settings: Settings) -> Iterator[LeftOut]:
        """The settings that a round does not confirm."""
        for pair in settings:
            if each.target.get(pair[0]) != pair[1]:
                together = self._with((*each.settings, pair))
                reason = LeaveReason.RULED_OUT_TOGETHER if together is None else LeaveReason.NOT_CONFIRMED
                yield LeftOut((pair,), reason)

    def _tried(self, each: Round) -> list[Arm]:
        return [arm for arm in self._arms if arm.configuration in each.configurations]

    def _judgement(self, evidence: Evidence) -> GainJudgement:
        return GainJudgement(evidence, self.metrics, self.wanted, self.space, self.relevant, self.keep)

    def _with(self, settings: Settings) -> Configuration | None:
        """The baseline with these settings; None if they need a setting that may not be recommended."""
        baseline = self.wanted.baseline
        found = reached(self.space, baseline, dict(settings)) if settings else baseline
        return found if found is not None and is_allowed(found, baseline, self.wanted.allowed) else None

    def _allowed_together(self, settings: Settings) -> Settings:
        """The settings, or the first of them that together need only settings that may be recommended."""
        if self._with(settings) is not None:
            return settings
        kept: Settings = ()
        for pair in settings:
            kept = kept if self._with((*kept, pair)) is None else (*kept, pair)
        return kept

    def _complete(self, each: Round, evidence: Evidence) -> bool:
        return all(task.id in evidence.known for task in self.tasks(each))

    def _pending(self, each: Round, evidence: Evidence) -> int:
        """The number of runs of a round that are still to be made; 0 once the time for the runs is spent."""
        if evidence.seconds >= self.wanted.seconds:
            return 0
        return len(tasks_without_run(self.tasks(each), evidence))

    def _warnings(self, last: list[Round]) -> tuple[str, ...]:
        remarks = []
        if rules_of(self.id) < RULES_VERSION:
            remarks.append(
                f"an earlier version of Hati made the recommendation, by other rules; `{self._command}` makes it again "
                "by the present ones"
            )
        if self.screened_revision not in {"", self.revision}:
            remarks.append(
                f"the screening is of another revision ({self.screened_revision[:_SHORT]}), and its effects may have "
                f"changed since; what is compared with the default was measured at this one ({self.revision[:_SHORT]})"
            )
        if self.wanted.baseline != self.space.default:
            remarks.append(
                "the default configuration cannot be run: the comparison is with the one that differs least from it"
            )
        if self.looked_up and last:
            remarks.append(
                "runs were looked up in a table, not measured again: the screening may have had the same ones"
            )
        elif last and last[0].blocks < FEWEST_PAIRS:
            remarks.append(f"the budget had room for {last[0].blocks} pairs of runs: give more for a narrower interval")
        return tuple(remarks)

    @property
    def _command(self) -> str:
        """The command that asks for the same recommendation."""
        return recommendation_command(
            self.command,
            self.metrics[0].name,
            template_texts(self.space.template, {}),
            json.loads(self.id.parameters)["budget"],
            relevant=self.relevant,
            seed=self.id.seed,
            keep=map(str, self.keep),
        )

    def _task(self, stage: str, configuration: Configuration, repetition: int) -> Task:
        return self.benchmark.task(self.id, stage, configuration, self.revision, repetition)
