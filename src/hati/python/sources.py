"""The working tree's Python files, read without running them."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hati.core import InputError, Place
from hati.core.nearest import suggestion
from hati.python.method import PythonMethod

_DIGITS = 16
_GIVEN = {"rng"}


@dataclass(frozen=True)
class WorkingTree:
    """A project's folder, and the folders below it from which its modules are imported."""

    root: Path
    roots: tuple[str, ...]

    def file(self, module: str) -> Path | None:
        """The file of a module, relative to the project's folder; None for one from elsewhere."""
        parts = Path(*module.split("."))
        for root in self.roots:
            for candidate in (Path(root) / parts / "__init__.py", Path(root) / parts.with_suffix(".py")):
                if (self.root / candidate).is_file():
                    return candidate
        return None

    def mark(self, file: Path) -> str:
        """A file's path with the start of the SHA-256 of its content."""
        return f"{file.as_posix()}={hashlib.sha256((self.root / file).read_bytes()).hexdigest()[:_DIGITS]}"

    def parameters(self, method: PythonMethod) -> tuple[str, ...] | None:
        """The names of a function's parameters, without ``rng``; None where it, or its module, is from elsewhere.

        Raises:
            InputError: where the module has no such function, or is no Python.
        """
        file = self.file(method.module)
        if file is None:
            return None
        module = parsed_file(self.root / file)
        found = dict(_functions(module))
        if method.path not in found:
            if not {method.path.partition(".")[0], "*"}.isdisjoint(_others(module)):
                return None
            raise InputError(f"{file} has no function {method.path!r}", fix=suggestion(method.path, found))
        taken = found[method.path].args
        return tuple(one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs) if one.arg not in _GIVEN)


def parsed_file(path: Path) -> ast.Module:
    """A file's tree, kept while the file stays as it is.

    Raises:
        InputError: where it is no Python.
    """
    status = path.stat()
    return _parse(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _parse(path: Path, _time: int, _size: int) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except SyntaxError as error:
        raise InputError(error.msg, place=Place(str(path), error.lineno, error.offset, error.text)) from None
    except ValueError as error:
        raise InputError(f"it is no Python: {error}", place=Place(str(path))) from None


def _functions(body: ast.AST, within: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions by their paths: those of the module, and of its classes."""
    for node in ast.iter_child_nodes(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{within}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{within}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _functions(node, within)


def _others(module: ast.Module) -> Iterator[str]:
    """Names that a module has by import or assignment, ``*`` for all that another one has."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
