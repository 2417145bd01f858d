"""Audits on a console and as Markdown."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from hati.render.markdown import escaped, table_markdown
from hati.render.terminal import print_facts, print_table
from hati.report import audit_answer, audit_facts, audit_table
from hati.studies.audit import Audit

_WIDTH = 80


def print_audit(found: Audit, console: Console) -> None:
    """Print how often it erred, each benchmark, and the answer."""
    print_facts(audit_facts(found), console)
    console.print()
    print_table(audit_table(found), console)
    console.print()
    print_facts((*(("warning", text) for text in found.warnings), ("answer", audit_answer(found))), console)


def audit_text(found: Audit) -> str:
    """An audit as text, as it is printed where there is no terminal."""
    text = StringIO()
    print_audit(found, Console(file=text, width=_WIDTH, force_terminal=False, color_system=None))
    return text.getvalue()


def audit_markdown(found: Audit) -> str:
    """An audit, for a pull request or an issue."""
    answer = f"**{escaped(audit_answer(found))}**\n"
    facts = "".join(f"- {label}: {escaped(text)}\n" for label, text in audit_facts(found))
    warnings = "".join(f"- warning: {escaped(text)}\n" for text in found.warnings)
    return "\n".join(("## Audit of comparisons\n", answer, facts + warnings, table_markdown(audit_table(found))))
