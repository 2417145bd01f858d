"""A recommendation on a console and as Markdown."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from hati.render.markdown import escaped, table_markdown
from hati.render.terminal import print_facts, print_table
from hati.report import left_out_table, recommendation_answer, recommendation_table
from hati.studies.recommendation import RecommendationConclusion

_WIDTH = 80


def print_recommendation(conclusion: RecommendationConclusion, console: Console) -> None:
    """Print what to set, what confirmed it, and why other candidates are left out."""
    console.print()
    if conclusion.recommended:
        print_table(recommendation_table(conclusion), console)
        console.print()
    print_facts((("recommended", recommendation_answer(conclusion)),), console)
    left_out = left_out_table(conclusion)
    if left_out is not None:
        console.print()
        print_table(left_out, console)


def recommendation_text(conclusion: RecommendationConclusion) -> str:
    """A recommendation as text, as it is printed where there is no terminal."""
    text = StringIO()
    print_recommendation(conclusion, Console(file=text, width=_WIDTH, force_terminal=False, color_system=None))
    return text.getvalue()


def recommendation_markdown(conclusion: RecommendationConclusion) -> str:
    """A recommendation, for a pull request or an issue."""
    left_out = left_out_table(conclusion)
    others = f"\n{table_markdown(left_out)}" if left_out is not None else ""
    answer = escaped(recommendation_answer(conclusion))
    return f"{table_markdown(recommendation_table(conclusion))}\n**{answer}**\n{others}"
