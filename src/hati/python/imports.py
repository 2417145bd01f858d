"""What modules import from the working tree: read from their text, and from the text of what they import."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from hati.core import InputError
from hati.python.sources import WorkingTree, absolute, parsed_file

_LOADERS = {"import_module", "__import__"}


def imported_files(tree: WorkingTree, modules: Iterable[str]) -> frozenset[Path]:
    """The files of modules and of all that these import, wherever the statement stands; relative to the tree's folder.

    What is from elsewhere is left out, and so is what a program makes up a name of.
    """
    found: dict[str, tuple[Path, ...]] = {}
    left = [name for module in modules for name in _with_packages(module)]
    while left:
        module = left.pop()
        if module not in found:
            found[module] = tree.files(module)
            left += [name for file in found[module] for name in _imported(tree, module, file)]
    return frozenset(file for files in found.values() for file in files)


def _imported(tree: WorkingTree, module: str, file: Path) -> Iterator[str]:
    if file.suffix != ".py":
        return
    try:
        parsed = parsed_file(tree.root / file)
    except InputError:  # who loads it is told
        return
    for node in ast.walk(parsed):
        for name in _named(node, module, file):
            if all(part.isidentifier() for part in name.split(".")):
                yield from _with_packages(name)


def _named(node: ast.AST, module: str, file: Path) -> Iterator[str]:
    """The modules that a statement names; of ``from a import b`` also ``a.b``, which may be one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = absolute(node, module, file)
        yield base
        yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)
    elif isinstance(node, ast.Call) and _called(node.func) in _LOADERS and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _with_packages(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[: depth + 1]) for depth in range(len(parts))]
