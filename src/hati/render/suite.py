"""A suite's conclusion on a console, as Markdown, and as one HTML file."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console

from hati.render.chart_library import require_charts
from hati.render.html import page
from hati.render.markdown import escaped, table_markdown
from hati.render.terminal import print_facts, print_table
from hati.report import suite_answer, suite_facts, suite_figure, suite_tables
from hati.studies.suite import SuiteConclusion

if TYPE_CHECKING:
    from hati.render.chart_style import Chart

_WIDTH = 80
_CAPTIONS = {
    "quantiles": "Q-Q plot: the suite's quantiles against those of what it is compared with.",
    "boxes": "Box plots of the suite, weighted, and of what it is compared with.",
}


def print_suite(conclusion: SuiteConclusion, console: Console) -> None:
    """Print what a suite found: how it was made, the distribution, the strata, comparisons, and warnings."""
    print_facts(suite_facts(conclusion), console)
    for table in suite_tables(conclusion):
        console.print()
        print_table(table, console)
    console.print()
    told = [("failed", text) for text in conclusion.failures] + [("warning", text) for text in conclusion.warnings]
    print_facts((*told, ("answer", suite_answer(conclusion))), console)


def suite_text(conclusion: SuiteConclusion) -> str:
    """What a suite found as text, as it is printed where there is no terminal."""
    text = StringIO()
    print_suite(conclusion, Console(file=text, width=_WIDTH, force_terminal=False, color_system=None))
    return text.getvalue()


def suite_markdown(conclusion: SuiteConclusion) -> str:
    """What a suite found, for a pull request or an issue."""
    lines = [
        *(f"{name}: {text}" for name, text in suite_facts(conclusion)),
        *(f"failed: {text}" for text in conclusion.failures),
        *(f"warning: {text}" for text in conclusion.warnings),
    ]
    parts = [
        f"## {escaped(conclusion.subject)}: {escaped(conclusion.metric.name)} over the whole space\n",
        f"**{escaped(suite_answer(conclusion))}**\n",
        "".join(f"- {escaped(line)}\n" for line in lines),
        *map(table_markdown, suite_tables(conclusion)),
    ]
    return "\n".join(parts)


def suite_charts(conclusion: SuiteConclusion) -> dict[str, Chart]:
    """The charts for which there are data, by name: quantiles, boxes."""
    figure = suite_figure(conclusion)
    if figure is None:
        return {}
    require_charts()
    from hati.render import suite_drawings

    return {"quantiles": suite_drawings.quantile_chart(figure), "boxes": suite_drawings.box_chart(figure)}


def suite_html(conclusion: SuiteConclusion) -> str:
    """The report of a suite, as one file: HTML, style, charts and scripts."""
    return page(
        "suite.html.j2",
        lambda: suite_charts(conclusion),
        _CAPTIONS,
        conclusion=conclusion,
        answer=suite_answer(conclusion),
        tables=suite_tables(conclusion),
        facts=(*suite_facts(conclusion), ("study", conclusion.study)),
    )
