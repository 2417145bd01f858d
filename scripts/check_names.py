"""Check that names of public classes are unique, and that messages and help avoid private words."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "hati"
PRIVATE = re.compile(
    r"\b(told|tells|mend|mends|anew|besides|foreseen|rehearsal|in vain|so many|kin|(?<!there )is no [a-z]+)\b"
)
"""Words that readers would have to decode; for "is no" write "is not a valid"."""


def twice(trees: dict[Path, ast.Module]) -> Iterator[str]:
    """The names of public classes that several modules define."""
    found = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    yield from (f"class {name}: {', '.join(places)}" for name, places in found.items() if len(places) > 1)


def private_words(trees: dict[Path, ast.Module]) -> Iterator[str]:
    """Texts with words that readers would have to decode; docstrings are not among them."""
    for path, tree in trees.items():
        quiet = set(_docstrings(tree))
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and " " in node.value
                and id(node) not in quiet
            ):
                for word in PRIVATE.findall(node.value):
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}: {word!r} in {node.value[:60]!r}"


def _docstrings(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        for statement in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                yield id(statement.value)


def main() -> int:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    wrong = [*twice(trees), *private_words(trees)]
    print("\n".join(wrong) or f"Names: {len(trees)} modules, every public class has its own.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
