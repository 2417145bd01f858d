"""Write the grammars of formulas with Lark's parse tables: ``python scripts/grammars.py``.

Each grammar is loaded from the ``parse_tables.py`` in its folder.
"""

from __future__ import annotations

import pickle
from io import BytesIO
from pathlib import Path

from lark import Lark, __version__

from hati.logic.syntax.expression import KEYWORDS, REVISION, UNITS

_ROOT = Path(__file__).parent.parent / "src" / "hati"
_SHARED = _ROOT / "formula" / "connectives.lark"
_STARTS = {
    _ROOT / "space" / "constraint.lark": ["formula"],
    _ROOT / "logic" / "syntax" / "performance.lark": ["formula", "statement"],
}
_PLACEHOLDERS = {
    "UNITS": "|".join(UNITS),
    "NO_KEYWORD": rf"(?!({'|'.join(sorted(KEYWORDS))})(?![\w.:]))",
    "BARE_REVISION": REVISION.pattern.replace("/", r"\/"),
}
_NAME = "parse_tables.py"
_MODULE = '''"""The grammar ``{name}`` with its tables, as ``scripts/grammars.py`` writes them."""

from hati.formula import Grammar

GRAMMAR = Grammar({text!r}, {starts!r}, {version!r}, {tables!r})
'''


def texts() -> dict[Path, str]:
    """The whole text of each grammar, by the module that holds it."""
    found = {}
    for grammar in _STARTS:
        text = _SHARED.read_text() + grammar.read_text()
        for name, value in _PLACEHOLDERS.items():
            text = text.replace(name, value)
        found[grammar] = text
    return found


def _module(grammar: Path, text: str) -> str:
    saved = BytesIO()
    starts = _STARTS[grammar]
    Lark(text, parser="lalr", start=starts, maybe_placeholders=False).save(saved)
    tables = pickle.loads(saved.getvalue())  # noqa: S301  # what was saved right before
    return _MODULE.format(name=grammar.name, text=text, starts=starts, version=__version__, tables=tables)


def stale(path: Path, text: str) -> bool:
    """Whether the module of a grammar's tables is of another text or another version of Lark."""
    module = path.with_name(_NAME)
    return not module.exists() or f"Grammar({text!r}, {_STARTS[path]!r}, {__version__!r}, " not in module.read_text()


if __name__ == "__main__":
    for path, whole in texts().items():
        if stale(path, whole):  # else the numbers of Lark's states would change each time
            path.with_name(_NAME).write_text(_module(path, whole))
