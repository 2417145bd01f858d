"""A gate as a comment on a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from hati.render.markdown import escaped, table_markdown
from hati.report import Table

_MOST = 60_000
"""Characters of a comment; GitHub takes 65,536."""
_CUT = "\n\nThe rest is left out.\n"


def gate_markdown(mark: str, title: str, answer: str, short: Table | None, tables: Sequence[Table]) -> str:
    """The answer in a line, what is not the same in a table, and all else folded.

    ``mark`` is what a bot finds its own comment by, to write it anew: a comment of HTML in the first line.
    """
    head = [comment_mark(mark), f"**{escaped(title)}: {escaped(answer)}**", ""]
    if short is not None:
        head += ["\n".join(table_markdown(short).splitlines()[2:]), ""]
    folded = "\n".join(map(table_markdown, tables))
    text = "\n".join(head) + "\n<details><summary>Details</summary>\n\n"
    left = _MOST - len(text)
    folded = folded if len(folded) <= left else folded[:left].rpartition("\n")[0] + _CUT
    return f"{text}{folded}\n</details>\n"


def comment_mark(mark: str) -> str:
    """The first line of a comment, by which a bot finds its own."""
    safe = mark.replace("--", "%2D%2D").replace(">", "%3E").replace("\n", "%0A")
    return f"<!-- {safe} -->"
