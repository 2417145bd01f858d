"""``hati history`` of revisions that are measured now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.cli.documents import DocumentFormat, of_plan, write_document
from hati.cli.dry_run import write_rehearsal
from hati.cli.output import say
from hati.cli.progress import progress
from hati.core import InputError, replace
from hati.core.wording import suggestion

if TYPE_CHECKING:
    from hati.studies.replay import Order


class ReplayOptions(Struct, frozen=True):
    """The options that are of revisions only; None and False: not given."""

    revisions: str | None
    every: str | None
    order: str | None
    runs: int | None
    project: Path
    benchmark: str | None
    budget: str | None
    template: tuple[str, ...]
    statistic: str
    seed: int | None
    fresh: bool
    dry_run: bool
    store: str | None

    def refuse(self) -> None:
        """See that none of them is given with a file.

        Raises:
            InputError: where one is.
        """
        given = {
            "--revisions": self.revisions,
            "--every": self.every,
            "--order": self.order,
            "--runs": self.runs,
            "--benchmark": self.benchmark,
            "--budget": self.budget,
            "--set": self.template or None,
            "--seed": self.seed,
            "--fresh": self.fresh or None,
            "--dry-run": self.dry_run or None,
        }
        for name, value in given.items():
            if value is not None:
                raise InputError(
                    f"{name} is for revisions that are measured now, and a file is taken as it is",
                    fix="leave it out, or leave the file out",
                )


def replay_now(
    options: ReplayOptions,
    metric: str | None,
    alpha: float,
    baseline: str | None,
    seed: int,
    output: str,
    chosen: DocumentFormat,
) -> None:
    """Measure revisions, and write where they changed and how each is distributed.

    Raises:
        InputError: where there are no such revisions, or too few.
        MeasurementError: where too few could be measured.
    """
    from hati.report import Aside, findings_table, replay_document, replay_json, skipped_text
    from hati.studies.comparison import parse_statistic
    from hati.studies.findings import findings_of
    from hati.studies.regression import histories
    from hati.wiring import (
        ReplayRequest,
        make_campaign,
        narrowed_workplace,
        prepare_replay,
        rehearse_campaign,
        workplace,
    )

    if options.revisions is None:
        raise InputError(
            "there is neither a table nor a range of revisions", fix="name a table, or write --revisions FIRST..LAST"
        )
    place = narrowed_workplace(workplace(options.project, options.store, say), options.template, say)
    request = ReplayRequest(
        revisions=options.revisions,
        every=options.every or "1",
        order=_order(options.order),
        benchmark=options.benchmark,
        budget=options.budget,
        seed=seed if options.seed is None else options.seed,
        statistic=parse_statistic(options.statistic),
    )
    request = request if options.runs is None else replace(request, repetitions=options.runs)
    prepared = prepare_replay(place, request, fresh=options.fresh)
    if options.dry_run:
        write_rehearsal(rehearse_campaign(prepared), of_plan(chosen), output)
        return
    with progress(options.revisions) as observe:
        found = make_campaign(prepared, say, observe)
    series = tuple(one for one in found.series if metric in {None, one.metric.name})
    if not series:
        known = sorted({one.metric.name for one in found.series})
        raise InputError(f"there is no metric {metric!r}", fix=suggestion(str(metric), known))
    for skipped in found.skipped:
        say(f"warning: {skipped_text(skipped)}")
    findings = findings_of(place.store.events())
    concluded = histories(series, alpha, baseline)
    further = (Aside("Findings", (findings_table(findings),)),) if findings else ()
    document = replay_document(replace(found, series=series), concluded, further)
    write_document(document, lambda: replay_json(found, concluded), chosen, output)


def _order(text: str | None) -> Order:
    from hati.studies.replay import Order

    if text is None:
        return Order.INTERLEAVED
    known = [order.value for order in Order]
    if text not in known:
        raise InputError(f"there is no order {text!r}", fix=suggestion(text, known))
    return Order(text)
