"""What is known of a benchmark and metric, on a console and as Markdown."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from hati.render.markdown import escaped
from hati.render.terminal import print_facts
from hati.report import Known, known_facts

_WIDTH = 80
_TITLE = "Known now"


def print_known(known: Known, console: Console) -> None:
    """Print what is known, after a report; nothing where nothing is."""
    facts = known_facts(known)
    if facts:
        console.print()
        console.print(_TITLE)
        print_facts(facts, console)


def known_text(known: Known) -> str:
    """The same as text, as it is printed where there is no terminal."""
    text = StringIO()
    print_known(known, Console(file=text, width=_WIDTH, force_terminal=False, color_system=None))
    return text.getvalue()


def known_markdown(known: Known) -> str:
    """The same as a list; empty where nothing is known."""
    facts = "".join(f"- {name}: {escaped(text)}\n" for name, text in known_facts(known))
    return f"\n### {_TITLE}\n\n{facts}" if facts else ""
