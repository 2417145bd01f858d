"""``hati history`` of revisions that are measured now."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.cli.dry_run import write_rehearsal
from hati.cli.output import STDOUT, Format, console, say, write, write_page
from hati.cli.progress import progress
from hati.core import InputError, replace
from hati.core.wording import suggestion

if TYPE_CHECKING:
    from hati.report import Table
    from hati.studies.regression import HistoryConclusion
    from hati.studies.replay import Order, Replayed


class HistoryFormat(StrEnum):
    """How histories are written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"

    @property
    def plain(self) -> Format:
        """How a plan is written where this was chosen."""
        return Format.TEXT if self is HistoryFormat.HTML else Format(self.value)


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
    chosen: HistoryFormat,
) -> None:
    """Measure revisions, and write where they changed and how each is distributed.

    Raises:
        InputError: where there are no such revisions, or too few.
        MeasurementError: where too few could be measured.
    """
    from hati.report import findings_table, skipped_text
    from hati.studies.comparison import parse_statistic
    from hati.studies.findings import findings_of
    from hati.studies.regression import histories
    from hati.wiring import ReplayRequest, narrowed_workplace, prepare_replay, rehearse_replay, replay, workplace

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
        write_rehearsal(rehearse_replay(prepared), chosen.plain, output)
        return
    with progress(options.revisions) as observe:
        found = replay(prepared, say, observe)
    series = tuple(one for one in found.series if metric in {None, one.metric.name})
    if not series:
        known = sorted({one.metric.name for one in found.series})
        raise InputError(f"there is no metric {metric!r}", fix=suggestion(str(metric), known))
    for skipped in found.skipped:
        say(f"warning: {skipped_text(skipped)}")
    findings = findings_of(place.store.events())
    tables = [findings_table(findings)] if findings and chosen is HistoryFormat.HTML else []
    _write(replace(found, series=series), histories(series, alpha, baseline), tables, chosen, output)


def _order(text: str | None) -> Order:
    from hati.studies.replay import Order

    if text is None:
        return Order.INTERLEAVED
    known = [order.value for order in Order]
    if text not in known:
        raise InputError(f"there is no order {text!r}", fix=suggestion(text, known))
    return Order(text)


def _write(
    found: Replayed, concluded: list[HistoryConclusion], further: list[Table], chosen: HistoryFormat, output: str
) -> None:
    from hati import render
    from hati.report import affected_tables, coverage_lines, replay_json, spread_tables

    tables = [*affected_tables(concluded), *spread_tables(found), *further]
    covered = coverage_lines(found.coverage)
    if chosen is HistoryFormat.JSON:
        write(render.to_json(replay_json(found, concluded)), output)
    elif chosen is HistoryFormat.HTML:
        facts = (*(("coverage", line) for line in covered), ("study", found.study))
        write_page(render.histories_html(found.series, concluded, found, facts, tables), output)
    elif chosen is HistoryFormat.MARKDOWN:
        write(
            "\n".join((*covered, "", render.histories_markdown(concluded), *map(render.table_markdown, tables))), output
        )
    elif output == STDOUT:
        for line in covered:
            console().print(line, markup=False, highlight=False)
        render.print_histories(concluded, console())
        for table in tables:
            console().print()
            render.print_table(table, console())
    else:
        write("\n".join((*covered, render.histories_text(concluded), *map(render.table_text, tables))), output)
