"""Checks on this machine: two revisions over the configurations that represent a space."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from hati.core import Budget, InputError, MeasurementError, Plan, Revision, RevisionKind, StudyId
from hati.core.wording import counted
from hati.studies.comparison import Question, parse_statistic
from hati.studies.findings import is_concluded
from hati.studies.gate import Gate, GateConclusion, gate_id, runs_to_decide
from hati.subject import Revisions
from hati.wiring.campaigns import Campaign, campaign_of
from hati.wiring.kinds.gate import GateRequest
from hati.wiring.known.benchmarks import statistics_of, warm_up_cuts, with_cuts
from hati.wiring.known.screenings import affordable, benchmarks_of, questions, representatives
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

    A check that was interrupted after its last run, before its findings were recorded, only has to conclude.

    Raises:
        InputError: for an unknown revision or benchmark, or where the budget cannot decide.
    """
    question = Question(request.alpha, request.margin, parse_statistic(request.statistic))
    revisions = place.revisions()
    revision = revisions.find(request.revision)
    reference = _reference(place, revisions, revision, request.reference)
    given = request.budget or place.project.check.budget or f"{ROUNDS} rounds"
    runs = runs_to_decide(question, questions(place, request.benchmark))
    most = affordable(place, request.benchmark, Budget.parse(given, {"rounds": math.inf}), runs)
    chosen = representatives(place, request.benchmark, most)
    cells = chosen.cells
    budget = Budget.parse(given, {"rounds": 2 * len(cells)})
    first = gate_id(cells, reference, revision, question, request.seed, place.measured_on.id)

    def prepared(study: StudyId) -> Campaign[Gate, GateConclusion]:
        benchmarks = benchmarks_of(cells)
        kept = statistics_of(place, study, question, benchmarks)
        cuts = warm_up_cuts(place, study, benchmarks)
        made = Gate(study, reference, revision, cells, question, budget, chosen.coverage, kept, cuts)
        engine = partial(place.engine, benchmarks, trees=revisions.trees(place.project.root))
        choice = with_cuts(kept.to_json(), cuts) if kept.rows or cuts else ""
        described, tasks = partial(_described, made), lambda: Plan.of(made.dry_run_tasks())
        return Campaign(place, made, budget, benchmarks, engine, described, tasks, choice)

    return campaign_of(place, first, prepared, _over, fresh=fresh)


def _described(study: Gate) -> str:
    return f"{study.revision} against {study.reference}: {_cells_text(study)}, in rounds, until it is decided"


def _reference(place: Workplace, revisions: Revisions, revision: Revision, wanted: str | None) -> Revision:
    """The requested reference, else the project's; errors in the project's carry its place."""
    if wanted is not None:
        return reference_of(revisions, revision, wanted)
    check = place.project.check
    try:
        return reference_of(revisions, revision, check.reference, place.project.root)
    except InputError as error:
        raise InputError(error.message, place=error.place or check.reference_place, fix=error.fix) from error


def _cells_text(study: Gate) -> str:
    sources = "; ".join(dict.fromkeys(one.source for one in study.coverage))
    return f"{counted(len(study.cells), 'configuration')} ({sources})"
