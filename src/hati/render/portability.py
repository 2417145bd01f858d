"""How portable formulas are, as one HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.render.html import page
from hati.report import portability_answer, portability_bins, portability_facts, portability_tables
from hati.studies.assertion import Portability

if TYPE_CHECKING:
    from hati.render.chart_style import Chart

_CAPTION = "How many tests have which portability. The table of the histogram has the same numbers."


def portability_html(found: Portability) -> str:
    """The metric of each test and its histogram, as one file."""
    tests, histogram = portability_tables(found)
    return page(
        "portability.html.j2",
        lambda: _charts(found),
        {"histogram": _CAPTION},
        title="Portability of performance requirements",
        answer=portability_answer(found),
        warnings=(),
        facts=portability_facts(found),
        tests=tests,
        histogram=histogram,
    )


def _charts(found: Portability) -> dict[str, Chart]:
    from hati.render.portability_charts import portability_chart

    return {"histogram": portability_chart(portability_bins(found), found.names)}
