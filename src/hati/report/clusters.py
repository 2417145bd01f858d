"""Clusters of a comparison as plain values, as rows of its table and as a sentence."""

from __future__ import annotations

from hati.report.changes import change_json, change_text, p_text
from hati.report.plain import Plain
from hati.report.quantities import general, quantity
from hati.report.table import Cell, Shown
from hati.studies.comparison import ClusterChange, ClusterSide, Comparison


def cluster_json(part: ClusterChange) -> Plain:
    """One cluster; every number unrounded."""
    return {
        **change_json(part.change),
        "before": part.before.centre,
        "after": part.after.centre,
        "runs": [part.before.runs, part.after.runs],
        "share": {
            "before": part.before.share,
            "after": part.after.share,
            "p_value": part.share_p_value,
            "q_value": part.share_q_value,
            "moved": part.share_moved,
        },
    }


def cluster_rows(row: Comparison) -> list[tuple[Cell, ...]]:
    """A row for each cluster, where any changed."""
    if not any(part.told for part in row.clusters):
        return []
    return [
        (
            f"  cluster {_shares(part)}",
            _centre(part.before, row),
            _centre(part.after, row),
            None,
            change_text(part.change),
            None if part.change.q_value is None else Shown(p_text(part.change.q_value), part.change.q_value),
            str(part.before.runs) if part.before.runs == part.after.runs else f"{part.before.runs}+{part.after.runs}",
            f"{part.change.verdict.value}, share" if part.share_moved else part.change.verdict.value,
        )
        for part in row.clusters
    ]


def cluster_sentence(row: Comparison) -> str:
    """Which of its clusters changed; empty where none did."""
    told = [_told(part, row) for part in row.clusters if part.told]
    return f"of {len(row.clusters)} clusters of observations {'; '.join(told)}" if told else ""


def _told(part: ClusterChange, row: Comparison) -> str:
    side = part.before if part.before.centre is not None else part.after
    assert side.centre is not None, "a cluster has observations in one of the samples"
    where = f"the one about {quantity(side.centre, row.metric.unit)}"
    moved = [f"is {part.change.verdict.value} ({change_text(part.change).text})"] if part.change.told else []
    mixed = [f"has {_shares(part)} of them"] if part.share_moved else []
    return f"{where} {' and '.join(moved + mixed)}"


def _shares(part: ClusterChange) -> str:
    if part.share_moved:
        return f"{_rounded(part.before.share)} → {_rounded(part.after.share)}"
    return _rounded((part.before.share + part.after.share) / 2.0)


def _rounded(share: float) -> str:
    return f"{general(100.0 * share, 2)} %"


def _centre(side: ClusterSide, row: Comparison) -> Cell:
    return None if side.centre is None else quantity(side.centre, row.metric.unit)
