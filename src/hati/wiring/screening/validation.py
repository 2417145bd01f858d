"""Validate a stored screening."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from hati.core import Budget, Evidence, InputError, StudyId
from hati.core.wording import listed, suggestion
from hati.design import MOST_RUNS
from hati.space import Space
from hati.studies.screening import AnyScreening, Effect, EffectScale, RelativeChange, ScreeningConclusion, isolated_of
from hati.studies.validation import (
    Augmenting,
    Confirming,
    Mode,
    Screened,
    ScreenedSize,
    Validation,
    ValidationConclusion,
    screened_runs,
    validation_id,
)
from hati.wiring.campaigns import Campaign, all_failed, campaign_of
from hati.wiring.kinds.validation import ValidationRequest
from hati.wiring.known.screenings import screened
from hati.wiring.screening.concluding import findings
from hati.wiring.screening.stored import stored_screening
from hati.wiring.workplace import Workplace, sources_of

_DESIGN = "design"
_ESTIMATING = {Mode.DEALIAS, Mode.CHECK}
_NAMED = 3


AnyValidation = Validation | Augmenting | Confirming


def prepare_validation(
    place: Workplace, request: ValidationRequest, *, fresh: bool
) -> Campaign[AnyValidation, ValidationConclusion]:
    """Find the screening, and its validation to resume, or number a new one.

    Raises:
        InputError: where the screening is unknown or unfinished, the subject has changed since, or the budget is
            a time shorter than one run.
        MeasurementError: where the screening measured nothing.
    """
    screening, source = _to_validate(place, request)
    place.announce(f"validation of {source}")
    evidence = place.store.evidence(screening.id)
    if screening.revision != place.revision:
        files = _modified(place, evidence)
        modified = f" ({listed(files, _NAMED)} modified since)" if files else ""
        raise InputError(
            f"the subject has changed since {screening.id.key}{modified}: "
            "its runs and new ones would not belong together",
            fix=f"screen again, or go back to that revision{_to_exclude(place, files)}",
        )
    _refuse_unfinished(screening, evidence)
    found = _findings(place, screening, evidence)
    budget = runs_of(request.budget, found)
    suspects = _suspects(screening.space, request.options)
    mode = Mode(request.mode) if request.mode else _usual_mode(found, suspects)
    if suspects and mode not in _ESTIMATING:
        raise InputError(
            f"`--options` needs `--mode dealias` or `--mode check`, and the mode is {mode}",
            fix="leave out one of them",
        )
    order = request.order or (2 if mode is Mode.DISCRIMINATE else 3)
    first = validation_id(
        screening=screening.id,
        metric=found.metric.name,
        relevant=request.relevant,
        mode=mode,
        order=order,
        budget=budget,
        seed=request.seed,
        machine=place.measured_on.id,
        suspects=suspects,
    )

    def prepared(study: StudyId) -> Campaign[AnyValidation, ValidationConclusion]:
        made = _validation(place, found, screening, study)
        described, tasks = (lambda: made.described), lambda: made.plan(place.store.evidence(study))
        return Campaign(place, made, Budget(runs=made.budget), (made.benchmark,), described, tasks)

    return campaign_of(place, first, prepared, all_failed, fresh=fresh)


def _to_validate(place: Workplace, request: ValidationRequest) -> tuple[AnyScreening, str]:
    """The requested screening; else the most informative one of this revision, or the last one of another."""
    last = stored_screening(place, request.study, _metric(place, request), request.relevant)
    known = None
    if request.study is None:
        known = screened(place, last.benchmark, last.metric, revision=place.revision, relevant=request.relevant)
    if known is None:
        return last, _with_left_out(place, last, last.id.key)
    study, _, entry = known
    return study, _with_left_out(place, study, f"{entry.source} ({entry.preferred})")


def _metric(place: Workplace, request: ValidationRequest) -> str | None:
    """The name of the requested metric, or the first of a table."""
    return request.metric if place.table is None else place.table.metrics[0].name


def _with_left_out(place: Workplace, screening: AnyScreening, source: str) -> str:
    """The source of the validated claims, with the failing settings that its space excludes."""
    [record] = [record for record in place.store.studies() if record.id == screening.id]
    described = isolated_of(record.choice).described
    return f"{source}; left out because it does not work: {', '.join(described)}" if described else source


def _modified(place: Workplace, evidence: Evidence) -> tuple[str, ...]:
    """The files that were modified since the first run, by their modification times."""
    if place.folder is None or not evidence.runs:
        return ()
    return place.folder.modified_since(min(run.started for run in evidence.runs))


def _to_exclude(place: Workplace, files: Sequence[str]) -> str:
    """The line of hati.toml that excludes the files that it does not name, to end a fix; empty without such files."""
    results = [file for file in files if file not in sources_of(place.project).named][:_NAMED]
    if not results:
        return ""
    sources = [*place.project.sources, *(f"!{file}" for file in results)]
    return f"; to exclude results, in [subject] of hati.toml: sources = {json.dumps(sources, ensure_ascii=False)}"


def validation_of(place: Workplace, key: str, metric: str) -> ValidationConclusion | None:
    """The conclusion of the last validation of a screening for a metric, even if unfinished; None without one.

    Raises:
        InputError: where the project no longer fits the screening.
    """
    records = [record for record in place.store.studies() if record.id.kind == "validation"]
    asked = [(record.id, json.loads(record.id.parameters)) for record in records]
    own = [(study, what) for study, what in asked if (what["screening"], what["metric"]) == (key, metric)]
    if not own:
        return None
    study = restored_validation(place, own[-1][0])
    return study.conclude(place.store.evidence(study.id))


def restored_validation(place: Workplace, study: StudyId) -> AnyValidation:
    """A stored validation, with the current state of its screening.

    Raises:
        InputError: where the project no longer fits the screening.
    """
    what = json.loads(study.parameters)
    screening = stored_screening(place, what["screening"], what["metric"], what["relevant"])
    found = _findings(place, screening, place.store.evidence(screening.id))
    return _validation(place, found, screening, study)


def _findings(place: Workplace, screening: AnyScreening, evidence: Evidence) -> ScreeningConclusion:
    return findings(place, screening, evidence, f"analysing {screening.id.key}:")


def _suspects(space: Space, names: tuple[str, ...]) -> tuple[str, ...]:
    """The options with these names, in the order of the space.

    Raises:
        InputError: for an unknown option.
    """
    for name in names:
        if name not in space.names:
            raise InputError(f"there is no option {name!r} in the screening", fix=suggestion(name, space.names))
    return tuple(name for name in space.names if name in names)


def _usual_mode(found: ScreeningConclusion, suspects: tuple[str, ...]) -> Mode:
    if found.by_model:
        return Mode.CHECK if suspects else Mode.CONFIRM
    return Mode.DEALIAS if suspects else Mode.DISCRIMINATE


def _validation(place: Workplace, found: ScreeningConclusion, screening: AnyScreening, study: StudyId) -> AnyValidation:
    what = json.loads(study.parameters)
    mode, suspects = Mode(what["mode"]), tuple(what.get("options", ()))
    evidence = place.store.evidence(screening.id)
    narrowed = screening.narrowed(evidence)
    if narrowed is not None and set(suspects) <= set(narrowed.space.names):
        screening, found = narrowed, _findings(place, narrowed, evidence)
    makers: dict[Mode, Callable[..., AnyValidation]] = {
        Mode.CONFIRM: Confirming,
        Mode.DISCRIMINATE: Validation,
        Mode.DEALIAS: partial(Augmenting, mode=Mode.DEALIAS, suspects=suspects),
        Mode.CHECK: partial(Augmenting, mode=Mode.CHECK, suspects=suspects),
    }
    return makers[mode](
        id=study,
        subject=found.subject,
        benchmark=screening.benchmark,
        metric=found.metric,
        revision=found.revision,
        space=screening.space,
        screened=_screened(screening, found, evidence, screening.space),
        order=what["order"],
        budget=what["budget"],
        repeats=place.repetitions,
    )


def runs_of(budget: str, screened: ScreeningConclusion) -> int:
    """A budget as a number of runs; a time is divided by the screening's mean time of a run, at most 10,000.

    Raises:
        InputError: for a time shorter than a run of the screening, or if its runs took no time.
    """
    limit = Budget.parse(budget)
    if math.isfinite(limit.runs):
        return int(limit.runs)
    each = screened.seconds / max(1, screened.done + screened.failed)
    if each <= 0.0:
        raise InputError("the screening's runs took no time", fix="give a number of runs, for instance --budget 16")
    if limit.seconds < each:
        raise InputError(f"a run takes {each:.3g} s, longer than the budget of {budget}", fix="give more time")
    return int(min(limit.seconds / each, MOST_RUNS))


def _refuse_unfinished(screening: AnyScreening, evidence: Evidence) -> None:
    """Refuse a screening that the same command would resume, since its findings may still change.

    Raises:
        InputError: where it is unfinished.
    """
    budget = Budget.parse(json.loads(screening.id.parameters)["budget"])
    if screening.plan(evidence).within(budget.left(evidence)):
        unmade, planned = _unmade(screening, evidence), len(screening.due(evidence))
        what = f"{unmade} of its {planned} planned runs were" if unmade else "runs that follow up what it found were"
        raise InputError(
            f"{screening.id.key} is unfinished: {what} not made",
            fix="run the same `hati screen` command again to finish it",
        )


def _unmade(screening: AnyScreening, evidence: Evidence) -> int:
    made = evidence.stage(_DESIGN).known
    return sum(task.id not in made for task in screening.due(evidence))


def _screened(screening: AnyScreening, found: ScreeningConclusion, evidence: Evidence, space: Space) -> Screened:
    """The screening's runs and findings in the form that a validation takes."""
    measured, unmade = screening.measured(evidence), _unmade(screening, evidence)
    scale = found.scale
    important = [effect for effect in found.effects if effect.shown]
    typical = float(np.mean(np.abs(measured.values)))
    return Screened(
        study=found.study,
        runs=screened_runs(
            tuple(run.task.configuration for run in measured.runs),
            measured.values,
            measured.blocks,
            space,
            scale,
            measured.machines,
            measured.in_time,
        ),
        scale=scale,
        important=tuple(effect.options for effect in important),
        aliases=tuple(effect.aliases for effect in important),
        relevant=scale.difference(found.relevant, typical),
        typical=typical,
        predicting=found.model.terms if found.by_model else (),
        sizes=tuple(_screened_size(effect, scale) for effect in important),
        planned=found.done + found.failed + unmade,
        failed=found.failed,
        unmade=unmade,
        made=len(evidence.runs),
    )


def _screened_size(effect: Effect, scale: EffectScale) -> ScreenedSize:
    """An effect's size on the deciding scale: its interval is in the unit, and in fractions on the logarithmic one."""
    change = RelativeChange(effect.relative, effect.relative_interval)
    ends = effect.interval if scale is EffectScale.RAW else effect.relative_interval
    if ends is None:
        return ScreenedSize(effect.contrast, None, change)
    low, high = ends if scale is EffectScale.RAW else (scale.difference(end, 1.0) for end in ends)
    return ScreenedSize(effect.contrast, (high - low) / 2.0, change)
