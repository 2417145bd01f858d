"""What was found out about how to measure, as plain values and as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hati.core import Sample
from hati.harness import Aim, Allocation, QuantilePrecision, RunPlan, State, SteadyRun, SufficientRun
from hati.report.quantities import duration, general, percent, quantity
from hati.report.table import Align, Cell, Column, Plain, Shown, Table

_RIGHT = Align.RIGHT
_INDEPENDENT = (
    "It holds for independent observations of one distribution. Where successive ones are alike, more are needed: "
    "`hati harness observations FILE` estimates from a run's autocorrelation how many independent ones they are worth."
)


def steady_json(found: Sequence[SteadyRun]) -> list[Plain]:
    """An object for each run."""
    return [
        {
            **_of(one.sample),
            "unit": one.sample.metric.unit,
            "run": one.run,
            "observations": int(one.sample.runs[one.run].observations.values.size),
            "warmup": one.sample.runs[one.run].observations.warmup,
            "state": one.found.state.value,
            "start": one.found.start,
            "level": one.found.level,
            "error": one.found.error,
            "disturbed": one.found.disturbed,
            "reason": one.found.reason,
        }
        for one in found
    ]


def steady_table(found: Sequence[SteadyRun], tolerance: float) -> Table:
    """A row for each run."""
    columns = (
        Column("benchmark"),
        Column("run", None, _RIGHT),
        Column("observations", None, _RIGHT),
        Column("state"),
        Column("start", None, _RIGHT),
        Column("level", None, _RIGHT),
        Column("disturbed", None, _RIGHT),
    )
    rows = tuple(_steady_row(one, several=_several(found)) for one in found)
    counts = [(state, sum(one.found.state is state for one in found)) for state in State]
    told = ", ".join(f"{number} {state.value}" for state, number in counts if number)
    notes = [f"{told}. Runs and observations count from 0; on the level is what is within {percent(tolerance)} of it."]
    reasons = [f"{_name(one.sample, several=True)}, run {one.run}: {one.found.reason}." for one in found]
    notes += [reason for one, reason in zip(found, reasons, strict=True) if one.found.reason][:10]
    return Table("Steady state", columns, rows, tuple(notes))


def observations_json(wanted: QuantilePrecision, found: Sequence[SufficientRun]) -> dict[str, Plain]:
    """What is wanted, what that takes, and what each run has."""
    return {
        "quantile": wanted.quantile,
        "precision": wanted.precision,
        "confidence": wanted.confidence,
        "observations": wanted.observations,
        "assumes": "independent, identically distributed observations",
        "runs": [
            {
                **_of(one.sample),
                "run": one.run,
                "observations": one.found.observations,
                "effective": one.found.effective,
                "precision": one.found.precision,
                "needed": one.found.needed,
                "enough": one.found.enough,
            }
            for one in found
        ],
    }


def observations_table(wanted: QuantilePrecision, found: Sequence[SufficientRun]) -> Table:
    """A row for each run; without runs, one that says what is needed."""
    sentence = (
        f"A run needs {wanted.observations:,} independent observations for the {general(wanted.quantile)} quantile to "
        f"be, with {percent(wanted.confidence)} confidence, that of a probability within "
        f"{general(wanted.precision)} of {general(wanted.quantile)}."
    )
    if not found:
        return Table(
            "Observations of a run", (Column("observations"),), ((wanted.observations,),), (sentence, _INDEPENDENT)
        )
    columns = (
        Column("benchmark"),
        Column("run", None, _RIGHT),
        Column("observations", None, _RIGHT),
        Column("independent", None, _RIGHT),
        Column("precision", None, _RIGHT),
        Column("needed", None, _RIGHT),
        Column("enough"),
    )
    rows = tuple(
        (
            _name(one.sample, several=_several(found)),
            one.run,
            one.found.observations,
            Shown(f"{math.floor(one.found.effective):,}", one.found.effective),
            Shown(general(one.found.precision, 2), one.found.precision),
            one.found.needed,
            "yes" if one.found.enough else "no",
        )
        for one in found
    )
    short = sum(not one.found.enough for one in found)
    told = f"{short} of {len(found)} runs fall short." if short else "All runs have enough."
    return Table(
        "Observations of a run",
        columns,
        rows,
        (f"{told} {sentence}", "Independent: what the observations after warm-up are worth, by their autocorrelation."),
    )


def plans_json(plans: Sequence[RunPlan], aim: Aim) -> list[Plain]:
    """An object for each sample; costs in seconds, variances as fractions of the mean, squared."""
    return [_plan_json(plan, aim) for plan in plans]


def _plan_json(plan: RunPlan, aim: Aim) -> Plain:
    variance = plan.variance
    square = variance.mean**2 if variance and variance.mean else None
    return {
        **_of(plan.sample),
        "unit": plan.sample.metric.unit,
        "runs": len(plan.sample.runs),
        "mean": variance.mean if variance else None,
        "variance_within": variance.within if variance else None,
        "variance_between": variance.between if variance else None,
        "relative_within": math.sqrt(variance.within / square) if variance and square else None,
        "relative_between": _root(variance.between / square)
        if variance and variance.between is not None and square
        else None,
        "worth": variance.worth if variance else None,
        "cost_observation": plan.costs.observation if plan.costs else None,
        "cost_run": plan.costs.run if plan.costs else None,
        "cost_basis": plan.costs.basis if plan.costs else None,
        "now": _allocation_json(plan.now),
        "best": _allocation_json(plan.best),
        "detect": aim.change,
        "power": aim.power,
        "alpha": aim.alpha,
        "unknown": list(plan.unknown),
    }


def _allocation_json(found: Allocation | None) -> Plain:
    if found is None:
        return None
    return {"observations": found.observations, "runs": found.runs, "seconds": found.seconds}


def plans_table(plans: Sequence[RunPlan], aim: Aim) -> Table:
    """A row for each sample: what it varies by, and what the observations it has and the best number ask for."""
    columns = (
        Column("benchmark"),
        Column("within", "%", _RIGHT),
        Column("between", "%", _RIGHT),
        Column("now", None, _RIGHT),
        Column("time", None, _RIGHT),
        Column("best", None, _RIGHT),
        Column("time", None, _RIGHT),
    )
    several = len({plan.sample.metric.name for plan in plans}) > 1
    rows = tuple(_plan_row(plan, several=several) for plan in plans)
    notes = [
        f"To find a change of {percent(aim.change)} with {percent(aim.power)} power at alpha {general(aim.alpha)}: "
        "runs of each side x observations after warm-up of each run, with those it has now and with those that cost "
        "least; time is that of both sides. Within and between: standard deviations of an observation within its run, "
        "and of runs beyond that, of the mean."
    ]
    bases = sorted({plan.costs.basis for plan in plans if plan.costs})
    notes += [f"Costs: {basis}." for basis in bases]
    unknown = [f"{_name(plan.sample, several=several)}: not known: {text}." for plan in plans for text in plan.unknown]
    return Table("Runs", columns, rows, (*notes, *unknown[:10]))


def _plan_row(plan: RunPlan, *, several: bool) -> tuple[Cell, ...]:
    values = _plan_json(plan, Aim())
    assert isinstance(values, dict)
    within, between = values["relative_within"], values["relative_between"]
    return (
        _name(plan.sample, several=several),
        _share(within),
        _share(between),
        *_allocation_cells(plan.now),
        *_allocation_cells(plan.best),
    )


def _allocation_cells(found: Allocation | None) -> tuple[Cell, Cell]:
    if found is None:
        return None, None
    runs = "?" if found.runs is None else f"{found.runs:,}"
    return (
        Shown(f"{runs} x {found.observations:,}", found.runs),
        None if found.seconds is None else Shown(duration(found.seconds), found.seconds),
    )


def _share(value: Plain) -> Cell:
    return Shown(general(100.0 * value, 2), value) if isinstance(value, float) else None


def _root(square: float) -> float:
    """Of what may be negative, as unbiased variances may: 0 then."""
    return math.sqrt(max(square, 0.0))


def _steady_row(one: SteadyRun, *, several: bool) -> tuple[Cell, ...]:
    found, unit = one.found, one.sample.metric.unit
    return (
        _name(one.sample, several=several),
        one.run,
        int(one.sample.runs[one.run].observations.values.size),
        found.state.value,
        found.start,
        None if found.level is None else Shown(quantity(found.level, unit), found.level),
        None if found.disturbed is None else Shown(percent(found.disturbed, 2), found.disturbed),
    )


def _several(found: Sequence[SteadyRun | SufficientRun]) -> bool:
    return len({one.sample.metric.name for one in found}) > 1


def _of(sample: Sample) -> dict[str, Plain]:
    return {
        "benchmark": sample.benchmark,
        "configuration": dict(sample.configuration),
        "workload": dict(sample.workload),
        "metric": sample.metric.name,
        "revision": sample.revision,
        "machine": sample.machine,
    }


def _name(sample: Sample, *, several: bool) -> str:
    parts = (sample.benchmark, str(sample.configuration), str(sample.workload), sample.metric.name if several else "")
    return " ".join(filter(None, parts))
