"""A suite's conclusion as the plain values that are exchanged: unrounded, and null where nothing can be said."""

from __future__ import annotations

import math

from hati.report.plain import Plain
from hati.studies.suite import Agreement, StratumEstimate, SuiteConclusion, SuiteScale


def suite_json(conclusion: SuiteConclusion) -> dict[str, Plain]:
    """The conclusion under the names that programs rely on; every number unrounded, with its unit beside it."""
    geometric = conclusion.geometric_mean
    total = sum(stratum.weight for stratum in conclusion.strata)
    return {
        "study": conclusion.study,
        "subject": conclusion.subject,
        "benchmark": conclusion.benchmark,
        "revision": conclusion.revision,
        "metric": conclusion.metric.name,
        "unit": conclusion.metric.unit,
        "better": conclusion.metric.better.value,
        "scale": conclusion.scale.value,
        "options": list(conclusion.options),
        "options_from": conclusion.options_from,
        "space": {"configurations": conclusion.configurations},
        "design": {
            "runs": conclusion.planned,
            "configurations": conclusion.size,
            "repetitions": conclusion.repetitions,
            "strata": len(conclusion.strata),
        },
        "strata": [_stratum(stratum, total) for stratum in conclusion.strata],
        "quantiles": {_level(q.level): q.estimate for q in conclusion.quantiles},
        "quantile_intervals": {_level(q.level): [q.low, q.high] for q in conclusion.quantiles},
        "mean": conclusion.mean.estimate,
        "mean_interval": _pair(conclusion.mean.interval),
        "geometric_mean": None if geometric is None else geometric.estimate,
        "geometric_mean_interval": None if geometric is None else _pair(geometric.interval),
        "against": None if conclusion.against is None else _against(conclusion.against, conclusion.scale),
        "runs": {"done": conclusion.done, "failed": conclusion.failed},
        "failures": list(conclusion.failures),
        "seconds": conclusion.seconds,
        "warnings": list(conclusion.warnings),
    }


def _level(level: float) -> str:
    """A quantile's level as a key: 0.05, 0.5, 0.999."""
    return repr(float(level))


def _stratum(stratum: StratumEstimate, total: int) -> dict[str, Plain]:
    return {
        "setting": dict(stratum.setting),
        "weight": stratum.weight,
        "share": stratum.weight / total,
        "estimate": stratum.estimate,
        "interval": _pair(stratum.interval),
        "configurations": stratum.configurations,
        "runs": stratum.runs,
    }


def _against(found: Agreement, scale: SuiteScale) -> dict[str, Plain]:
    test, equal = found.mann_whitney, found.equivalence
    return {
        "kind": found.kind,
        "values": found.values,
        "mean": found.mean,
        "geometric_mean": found.geometric_mean,
        "ks": found.ks,
        "range": found.range,
        "equivalent": None if equal is None else equal.equivalent,
        "equivalence": None
        if equal is None
        else {
            "scale": scale.value,
            "difference": equal.difference,
            "interval": list(equal.interval),
            "margin": equal.margin,
            "p_value": equal.p_value,
            "provable": equal.provable,
        },
        "mann_whitney": {
            "superiority": test.superiority,
            "p_value": test.p_value,
            "shift": test.shift,
            "power": test.power,
            "detectable": _finite(test.detectable),
        },
        "quantiles": found.pairs.tolist(),
    }


def _pair(interval: tuple[float, float] | None) -> Plain:
    return None if interval is None else list(interval)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
