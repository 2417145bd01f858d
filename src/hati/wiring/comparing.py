"""Comparisons on this machine: checks of a revision, variants, bisections, past revisions, and effects at two."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import date
from functools import cache, partial
from itertools import accumulate, groupby, pairwise, product
from pathlib import Path

from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    InputError,
    MeasurementError,
    Metric,
    Pairing,
    Plan,
    Revision,
    RevisionKind,
    Stopping,
    StudyId,
    replace,
)
from hati.core.wording import counted, suggestion
from hati.document import duration
from hati.harness import RULES
from hati.knowledge import WithinStrata
from hati.project import Project
from hati.studies.bisection import Bisection, BisectionConclusion, bisection_id
from hati.studies.comparison import Question, parse_statistic
from hati.studies.effect_drift import EffectDrift, EffectDriftStudy, effect_drift_id
from hati.studies.findings import is_concluded
from hati.studies.gate import Gate, GateConclusion, GateRule, gate_id, runs_to_decide
from hati.studies.harness_changes import HarnessChange
from hati.studies.paired import PairedComparison, PairedConclusion, PairedDesign, Variant, paired_id, shared_metrics
from hati.studies.replay import Replay, Replayed, ReplayOrder, replay_id
from hati.subject import Revisions, duet_cores
from hati.wiring.campaigns import Campaign, all_failed, campaign_of, never, run_cost
from hati.wiring.kinds.bisection import BisectionRequest
from hati.wiring.kinds.effect_drift import DriftRequest
from hati.wiring.kinds.gate import GateRequest
from hati.wiring.kinds.paired import CompareRequest
from hati.wiring.kinds.replay import NO_LIMIT, HistoryRequest
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.known.benchmarks import shown_in, statistics_of
from hati.wiring.known.screenings import (
    Representatives,
    affordable,
    as_begun,
    begun,
    begun_since_chosen,
    benchmarks_of,
    has_cells,
    questions,
    representatives,
    screened,
    size_of_suite,
    working_space,
)
from hati.wiring.known.warm_up import warm_up_cuts, with_cuts
from hati.wiring.screening.campaign import prepare_screening
from hati.wiring.screening.requested import chosen_metric
from hati.wiring.templates import parse_configuration
from hati.wiring.workplace import Workplace

PREVIOUS = "previous"
MERGE_BASE = "merge-base"


def reference_of(revisions: Revisions, revision: Revision, wanted: str | None, start: Path | None = None) -> Revision:
    """The revision named ``wanted``; ``previous``: the one before; ``merge-base``: where it left the main branch.

    By default ``merge-base``, or the previous revision on the main branch itself. For the working tree, the previous
    revision is the last commit. Paths of folders are relative to ``start``, else to the current folder.

    Raises:
        InputError: for an unknown revision.
    """
    if wanted not in {None, PREVIOUS, MERGE_BASE}:
        return revisions.find(str(wanted), start)
    history = revisions.history
    if history is None:
        raise InputError(
            "there is no repository to find the previous revision in",
            fix="name the reference by --reference, such as ./before",
        )
    here = revision.kind is RevisionKind.DIRECTORY
    commit = history.base() if here else revision
    if commit is None:
        raise InputError("the repository has no commit yet", fix="name a folder by --reference, such as ./before")
    if wanted != PREVIOUS:
        main = history.main()
        if main is None and wanted is not None:
            raise InputError("there is no main branch by a usual name", fix="name the reference by --reference")
        base = None if main is None else history.merge_base(commit, main)
        if base is not None and (base.id != commit.id or wanted is not None):
            return revisions.known(base)
    return revisions.known(commit if here else history.before(commit))


ROUNDS = 24
"""The default budget of a check: rounds of every configuration at both revisions."""
RULE = GateRule.SIGNS
"""The rule of new checks."""


def _over(known: Campaign[Gate, GateConclusion]) -> bool:
    """Whether a check is finished and its findings are recorded, or it measured nothing to report."""
    if not known.finished:
        return False
    try:
        known.study.conclude(known.evidence())
    except MeasurementError:
        return True
    if not known.study.id.token:  # from a version that did not mark checks without findings
        return True
    last = max(run.started for run in known.evidence().runs)
    return is_concluded(known.study.id.key, last, known.place.store.events())


def prepare_gate(place: Workplace, request: GateRequest, *, fresh: bool) -> Campaign[Gate, GateConclusion]:
    """Find the campaign to resume, or number a new one: a check measures again unless it was interrupted.

    One that goes on keeps the configurations with which it was begun, whatever the budget allows now, and its rule: one
    of two stages, from an earlier version, comes first. A check that was
    interrupted after its last run, before its findings were recorded, only has to conclude.

    Raises:
        InputError: for an unknown revision or benchmark, where the budget cannot decide, or where nothing in the folder
            differs from a reference that was not named.
    """
    question = Question(request.alpha, request.margin, parse_statistic(request.statistic))
    revisions = place.revisions()
    revision = revisions.find(request.revision)
    reference = _reference(place, revisions, revision, request)
    given = request.budget or place.project.check.budget or f"{ROUNDS} rounds"
    limits = Budget.parse(given, {"rounds": math.inf})
    runs = runs_to_decide(question, questions(place, request.benchmark))
    most = affordable(place, request.benchmark, limits, runs)
    at = _at(place, revisions, revision)

    def identity(chosen: Representatives, rule: GateRule) -> StudyId:
        return gate_id(chosen.cells, reference, revision, question, request.seed, place.measured_on.id, rule)

    def campaign(chosen: Representatives, rule: GateRule) -> Campaign[Gate, GateConclusion]:
        budget = Budget.parse(given, {"rounds": 2 * len(chosen.cells)})
        benchmarks = benchmarks_of(chosen.cells)

        def prepared(study: StudyId) -> Campaign[Gate, GateConclusion]:
            kept = statistics_of(place, study, question, benchmarks)
            cuts = warm_up_cuts(place, study, benchmarks)
            made = Gate(study, reference, revision, chosen.cells, question, budget, chosen.coverage, kept, cuts, rule)
            trees = revisions.trees(place.project.root)
            choice = with_cuts(kept.to_json(), cuts) if kept.rows or cuts else ""
            described, tasks = partial(_described_check, place, made), partial(_dry_run, place, made)
            return Campaign(place, made, budget, benchmarks, described, tasks, choice, trees)

        return campaign_of(place, identity(chosen, rule), prepared, _over, fresh=fresh)

    @cache
    def suite(size: int, within: WithinStrata) -> Representatives:
        return representatives(at, request.benchmark, size, within)

    chosen = representatives(at, request.benchmark, most)
    for rule in (GateRule.TWO_STAGES, RULE):
        for study in () if fresh else begun_since_chosen(place, identity(chosen, rule)):
            begun_with = size_of_suite(study)
            if begun_with > max(1.0, most) and math.isfinite(limits.runs):
                continue
            for size, within in product((begun_with, 1), WithinStrata):  # 1: without a suite, several may be listed
                known = suite(size, within)
                if has_cells(study, identity(known, rule)):
                    found = campaign(as_begun(known) if size < most else known, rule)
                    return found if found.evidence().runs else campaign(chosen, RULE)
    return campaign(chosen, RULE)


def _refuse_unchanged(place: Workplace, revisions: Revisions, asked: str, reference: Revision) -> None:
    """Refuse what is here without changes; files measured in addition to tracked ones may differ unseen."""
    if asked == "." and not place.project.sources and revisions.has_no_change(reference):
        raise InputError(
            f"nothing here differs from the reference, {reference}: there is no change to check",
            fix="check the last commit by `hati check HEAD`, or compare equal files by `--reference HEAD`",
        )


def _at(place: Workplace, revisions: Revisions, revision: Revision) -> Workplace:
    """The workplace as if a revision were in its folder: what is known of it may be of that revision or of another."""
    content = None if place.folder is None else revisions.content(revision, place.folder)
    return replace(place, revision=content or place.revision)


def _described_check(place: Workplace, study: Gate) -> str:
    what = f"{study.revision} against {study.reference}: {_cells_text(study)}, in rounds, until it is decided"
    costs = _costs(place, study)
    if costs is None:
        return what
    runs = runs_to_decide(study.question, len(study.groups))
    needed = runs * sum(costs[cell.benchmark.name] for cell in study.cells)
    if needed <= study.budget.seconds:
        return what
    return (
        f"{what}; {duration(study.budget.seconds)} is too short for that: to find a change takes at least "
        f"{runs * len(study.cells)} runs, about {duration(needed)}; give --budget {math.ceil(needed)}s or more"
    )


def _costs(place: Workplace, study: Gate) -> dict[str, float] | None:
    """The seconds of a run of each benchmark, by name; None where one is unknown."""
    known = {each.name: run_cost(place, each) for each in benchmarks_of(study.cells)}
    costs = {name: cost.value for name, cost in known.items() if cost is not None}
    return costs if len(costs) == len(known) else None


def _dry_run(place: Workplace, study: Gate) -> Plan:
    """The tasks of all possible rounds of exploring, as far as a budget in time is expected to go."""
    tasks = study.dry_run_tasks()
    costs = _costs(place, study) if math.isfinite(study.budget.seconds) else None
    if costs is None:
        return Plan.of(tasks)
    ends = list(accumulate(costs[task.benchmark] for task in tasks))
    return Plan.of(tasks[: max(1, bisect_right(ends, study.budget.seconds))])


def _reference(place: Workplace, revisions: Revisions, revision: Revision, request: GateRequest) -> Revision:
    """The requested reference, else the project's; errors in the project's carry its place."""
    if request.reference is not None:
        return reference_of(revisions, revision, request.reference)
    check = place.project.check
    try:
        reference = reference_of(revisions, revision, check.reference, place.project.root)
    except InputError as error:
        raise InputError(error.message, place=error.place or check.reference_place, fix=error.fix) from error
    _refuse_unchanged(place, revisions, request.revision, reference)
    return reference


def _cells_text(study: Gate) -> str:
    sources = "; ".join(dict.fromkeys(one.source for one in study.coverage))
    return f"{counted(len(study.cells), 'configuration')} ({sources})"


_DAY = "day"
_COUNT = re.compile(r"[1-9][0-9]{0,5}")


def prepare_replay(place: Workplace, request: HistoryRequest, *, fresh: bool) -> Campaign[Replay, Replayed]:
    """Find the campaign to resume, or number a new one.

    Raises:
        InputError: for unknown revisions, or too few.
    """
    order, statistic = _order(request.order), parse_statistic(request.statistic)
    revisions = place.revisions()
    line = tuple(_revisions_asked(revisions, request))
    limit = request.budget or NO_LIMIT  # None in records of earlier versions
    budget = Budget() if limit == NO_LIMIT else Budget.parse(limit)
    # What a run takes is known better as runs are made: a suite chosen by time would change when a history is resumed.
    most = affordable(place, request.benchmark, Budget(budget.runs), len(line) * request.repetitions)
    at = _at(place, revisions, line[-1])

    def identity(chosen: Representatives) -> StudyId:
        return replay_id(chosen.cells, line, request.repetitions, order, request.seed, place.measured_on.id)

    def campaign(chosen: Representatives) -> Campaign[Replay, Replayed]:
        cells = chosen.cells

        def prepared(study: StudyId) -> Campaign[Replay, Replayed]:
            benchmarks = benchmarks_of(cells)
            choices = statistics_of(place, study, Question(statistic=statistic), benchmarks)
            made = Replay(study, line, cells, request.repetitions, order, statistic, choices, chosen.coverage)
            trees = revisions.trees(place.project.root)
            kept = choices.to_json() if choices.rows else ""
            described, tasks = partial(_described_replay, made), lambda: made.plan(place.store.evidence(study))
            return Campaign(place, made, budget, benchmarks, described, tasks, kept, trees)

        return campaign_of(place, identity(chosen), prepared, never, fresh=fresh)

    @cache
    def suite(within: WithinStrata) -> Representatives:
        return representatives(at, request.benchmark, most, within)

    chosen = suite(WithinStrata.LEFT_OUT)
    studies = () if fresh else begun(place, identity(chosen))
    same = (suite(each) for study in studies for each in WithinStrata if has_cells(study, identity(suite(each))))
    return campaign(next(same, chosen))


def _order(text: str) -> ReplayOrder:
    known = [order.value for order in ReplayOrder]
    if text not in known:
        raise InputError(f"there is no order {text!r}", fix=suggestion(text, known))
    return ReplayOrder(text)


def _described_replay(study: Replay) -> str:
    first, last = study.revisions[0], study.revisions[-1]
    cells, runs = counted(len(study.cells), "configuration"), counted(study.repetitions, "run")
    sources = "; ".join(dict.fromkeys(one.source for one in study.coverage))
    return f"{len(study.revisions)} revisions from {first} to {last}, {cells} ({sources}), {runs} each"


def _revisions_asked(revisions: Revisions, request: HistoryRequest) -> list[Revision]:
    first, dots, last = (request.revisions or "").partition("..")
    if not dots or not first.strip():
        raise InputError(f"{request.revisions!r} is not a range of revisions", fix="write --revisions FIRST..LAST")
    if revisions.history is None:
        raise InputError("there is no repository with a past", fix="give a file of recorded values")
    start, end = revisions.find(first.strip()), revisions.find(last.strip() or "HEAD")
    return _thinned(revisions.between(start, end), request.every)


def _thinned(line: Sequence[Revision], every: str) -> list[Revision]:
    """Every n-th revision counted from the newest, and the oldest; or the last of each day, in UTC."""
    if every == _DAY:
        days: dict[date | None, Revision] = {}
        for revision in reversed(line):  # clocks differ: a day may occur twice in a history
            days.setdefault(revision.made.date() if revision.made else None, revision)
        return list(days.values())[::-1]
    if not _COUNT.fullmatch(every):
        raise InputError(f"--every {every!r} is neither a number from 1 on nor day", fix="write --every 5")
    chosen = list(line[::-1][:: int(every)])[::-1]
    return chosen if chosen[0] == line[0] else [line[0], *chosen]


DRIFT_ROUNDS = 4
_SIDES = 2
_DESIGN_RUNS = 4
"""The number of runs per option of a design that is made for this."""


def prepare_drift(place: Workplace, request: DriftRequest, *, fresh: bool) -> Campaign[EffectDriftStudy, EffectDrift]:
    """Find the campaign to resume, or number a new one.

    The design is that of the most informative screening, without settings known to fail; else one made for this. After
    an option dominated a screening, it is the part at that option's better setting: there the screening's effects are.

    Raises:
        InputError: for unknown revisions, or a budget below two rounds.
    """
    revisions = place.revisions()
    reference, revision = revisions.find(request.before), revisions.find(request.after)
    benchmark = place.project.benchmark(request.benchmark)
    metric = chosen_metric(benchmark, request.metric)
    cells, source = _design(_at(place, revisions, revision), benchmark, metric, request.seed)
    budget = Budget.parse(request.budget or f"{DRIFT_ROUNDS} rounds", {"rounds": _SIDES * len(cells)})
    rounds = int(budget.runs // (_SIDES * len(cells))) if math.isfinite(budget.runs) else DRIFT_ROUNDS
    machine = place.measured_on.id
    first = effect_drift_id(benchmark, cells, reference, revision, rounds, request.seed, machine)

    def prepared(study: StudyId) -> Campaign[EffectDriftStudy, EffectDrift]:
        made = EffectDriftStudy(study, benchmark, metric, cells, reference, revision, rounds, Question(request.alpha))
        trees = revisions.trees(place.project.root)
        described = partial(_described_drift, made, source)
        return Campaign(place, made, budget, (benchmark,), described, lambda: Plan.of(made.tasks()), trees=trees)

    return campaign_of(place, first, prepared, never, fresh=fresh)


def _described_drift(study: EffectDriftStudy, source: str) -> str:
    cells, rounds = counted(len(study.configurations), "configuration"), counted(study.rounds, "round")
    return f"{study.revision} against {study.reference}: {cells} ({source}) in {rounds}"


def _design(place: Workplace, benchmark: Benchmark, metric: Metric, seed: int) -> tuple[tuple[Configuration, ...], str]:
    """The configurations of the design, and its source."""
    known = screened(place, benchmark, metric)
    if known is not None:
        study, _, entry = known
        space, left_out = working_space(place, benchmark)
        part = study.narrowed(place.store.evidence(study.id)) or study
        cells = tuple(dict.fromkeys(each for each in part.configurations if space.valid(each)))
        return cells, "; ".join(filter(None, (f"the design of {entry.source}", left_out)))
    runs = _DESIGN_RUNS * max(1, len(place.project.space.names))
    asked = ScreeningRequest(metric=metric.name, budget=str(runs), seed=seed, benchmark=benchmark.name)
    prepared = prepare_screening(place, asked, fresh=True)
    made = prepared.designed(prepared.choice or prepared.chosen(runs)).configurations
    return tuple(dict.fromkeys(made)), f"a design made for this: {benchmark.name} is not screened"


def prepare_pairs(
    place: Workplace, request: CompareRequest, *, fresh: bool
) -> Campaign[PairedComparison, PairedConclusion]:
    """Find the campaign to resume, or number a new one.

    An unfinished campaign is resumed, an anytime-valid one also with a larger budget or another level. A finished one
    is used as it is, unless ``fresh`` or unless it measured nothing.

    Raises:
        InputError: where the variants share no metric, the budget cannot decide, or they cannot run at the same time.
    """
    Budget.parse(request.budget)
    question, (names_before, names_after) = request.question, request.sides
    before = _variant(place.project, names_before[0], request.settings_of(request.set_before))
    after = _variant(place.project, names_after[0], request.settings_of(request.set_after))
    metrics = shared_metrics(before, after, request.metric)
    machine = place.measured_on.id
    if request.pairing is Pairing.DUET:
        duet_cores((before.benchmark, after.benchmark))
    rule = RULES[request.stopping]
    design = PairedDesign(before, after, place.revision, machine, question, rule, request.pairing)
    first = paired_id(
        before, after, place.revision, request.stopping, request.budget, request.seed, machine, request.pairing
    )

    def prepared(study: StudyId) -> Campaign[PairedComparison, PairedConclusion]:
        own = design._replace(machine=study.machine, choices=statistics_of(place, study, question, (before.benchmark,)))
        made = PairedComparison(study, own, metrics, Budget.parse(request.budget))
        benchmarks = tuple({each.name: each for each in (before.benchmark, after.benchmark)}.values())
        kept = own.choices.to_json() if own.choices.rows else ""
        described, tasks = partial(_described, own), lambda: Plan.of(made.tasks(made.most_pairs(Evidence())))
        return Campaign(place, made, made.budget, benchmarks, described, tasks, kept)

    return campaign_of(place, first, prepared, all_failed, fresh=fresh)


def _variant(project: Project, name: str, settings: str) -> Variant:
    known = [benchmark.name for benchmark in project.benchmarks]
    if name not in known:
        raise InputError(f"{name!r} is neither a file nor a benchmark of {project.file}", fix=suggestion(name, known))
    return Variant(project.benchmark(name), parse_configuration(project.space, settings))


def _described(design: PairedDesign) -> str:
    ending = "until it is decided" if design.rule.kind is Stopping.ANYTIME else "all of them"
    return f"pairs of {design.before} and {design.after}, each in random order, {ending}"


PER_COMMIT = "pairs per commit"
PAIRS = 24
"""The default budget of a bisection: pairs of each probe, on average."""


def prepare_bisection(
    place: Workplace, request: BisectionRequest, *, fresh: bool
) -> Campaign[Bisection, BisectionConclusion]:
    """Find the campaign to resume, or number a new one.

    Raises:
        InputError: for an unknown revision, or where the bad one does not come after the good one.
    """
    revisions = place.revisions()
    line = _line(revisions, request)
    benchmark = place.project.benchmark(request.benchmark)
    metric = chosen_metric(benchmark, request.metric)
    probes = 2 + len(line).bit_length()
    budget = Budget.parse(request.budget or f"{PAIRS} {PER_COMMIT}", {PER_COMMIT: 2 * probes})
    machine, question = place.measured_on.id, Question(request.alpha, request.margin)
    configuration = _configuration(place, request.settings, line, benchmark, metric)
    first = bisection_id(benchmark, configuration, metric, line, question, request.seed, machine)

    def prepared(study: StudyId) -> Campaign[Bisection, BisectionConclusion]:
        made = Bisection(study, benchmark, configuration, metric, tuple(line), question, budget)
        trees = revisions.trees(place.project.root)
        first_pair = partial(_first_pair, place, made)
        return Campaign(place, made, budget, (benchmark,), partial(_described_line, made), first_pair, trees=trees)

    return campaign_of(place, first, prepared, never, fresh=fresh)


def _configuration(
    place: Workplace, settings: str | None, line: Sequence[Revision], benchmark: Benchmark, metric: Metric
) -> Configuration:
    if settings is not None:
        return parse_configuration(place.project.space, settings)
    return shown_in(place, line, benchmark, metric) or place.project.space.default


def _first_pair(place: Workplace, study: Bisection) -> Plan:
    """The first pair; its result determines which pairs follow."""
    plan = study.plan(place.store.evidence(study.id))
    return Plan(plan.batches, int(study.budget.runs) if math.isfinite(study.budget.runs) else 0)


def _described_line(study: Bisection) -> str:
    where = f", at {study.configuration}" if study.configuration else ""
    number, first, last = counted(len(study.revisions) - 1, "revision"), study.revisions[0], study.revisions[-1]
    return f"{number} from {first} to {last}{where}"


def _line(revisions: Revisions, request: BisectionRequest) -> Sequence[Revision]:
    good, bad = revisions.find(request.good), revisions.find(request.bad)
    if revisions.history is None:
        raise InputError("there is no repository to bisect", fix="compare two folders by hati check")
    return revisions.between(good, bad)


def harness_changes(place: Workplace, revisions: Sequence[Revision]) -> tuple[HarnessChange, ...]:
    """What changed from each revision to the next in the files that the project declares as those that measure.

    Successive revisions of which it is not known are one change without files.
    """
    patterns = place.project.harness
    if not patterns:
        return ()
    known, found = place.revisions(), list[HarnessChange]()
    pairs = ((str(first), str(last), known.changed(first, last, patterns)) for first, last in pairwise(revisions))
    for unknown, group in groupby(pairs, lambda pair: pair[2] is None):
        changes = list(group)
        if unknown:
            found.append(HarnessChange(changes[0][0], changes[-1][1], ()))
        else:
            found.extend(HarnessChange(first, last, files) for first, last, files in changes if files)
    return tuple(found)
