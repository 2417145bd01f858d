"""A validation's conclusion on a console and as Markdown."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from hati.render.markdown import escaped, table_markdown
from hati.render.terminal import print_facts, print_table
from hati.report import validation_answer, validation_assumptions, validation_facts, validation_tables
from hati.studies.validation import ValidationConclusion

_WIDTH = 80


def print_validation(conclusion: ValidationConclusion, console: Console) -> None:
    """Print what was validated, the models, effects and assumptions, and the answer."""
    print_facts(validation_facts(conclusion), console)
    for table in validation_tables(conclusion):
        console.print()
        print_table(table, console)
    console.print()
    print_facts(validation_assumptions(conclusion), console)
    console.print()
    told = [("failed", text) for text in conclusion.failures] + [("warning", text) for text in conclusion.warnings]
    print_facts((*told, ("answer", validation_answer(conclusion))), console)


def validation_text(conclusion: ValidationConclusion) -> str:
    """A validation as text, as it is printed where there is no terminal."""
    text = StringIO()
    print_validation(conclusion, Console(file=text, width=_WIDTH, force_terminal=False, color_system=None))
    return text.getvalue()


def validation_markdown(conclusion: ValidationConclusion) -> str:
    """A validation, for a pull request or an issue."""
    lines = [
        *(f"{name}: {text}" for name, text in validation_facts(conclusion)),
        *(f"failed: {text}" for text in conclusion.failures),
        *(f"warning: {text}" for text in conclusion.warnings),
    ]
    parts = [
        f"## {escaped(conclusion.subject)}: is what was found about {escaped(conclusion.metric.name)} right?\n",
        f"**{escaped(validation_answer(conclusion))}**\n",
        "".join(f"- {escaped(line)}\n" for line in lines),
        *map(table_markdown, validation_tables(conclusion)),
        "### Assumptions\n",
        "".join(f"- {result}: {escaped(text)}\n" for result, text in validation_assumptions(conclusion)),
    ]
    return "\n".join(parts)
