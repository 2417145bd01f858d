"""References to functions, the working tree's Python files, read without running them, and functions' parameters."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from hati.core import InputError, Place, Setting
from hati.core.wording import suggestion
from hati.python.injected.parameters import RNG, Parameters
from hati.python.injected.signature import Signature
from hati.python.injected.trouble import Trouble

_NAME = r"[^\W\d]\w*"
_CALL = re.compile(r"([^(]+)\((.*)\)", re.DOTALL)
_REFERENCE = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME}(?:\.{_NAME})*)")


class PythonMethod(Struct, frozen=True):
    """A function ``path`` of ``module``; the path of a method starts with its class."""

    module: str
    path: str

    @classmethod
    def parse(cls, text: str) -> PythonMethod:
        """Read ``module:function`` or ``module:Class.method``.

        Raises:
            InputError: for any other text.

        >>> PythonMethod.parse("pkg.lists:ArrayList.contains")
        PythonMethod(module='pkg.lists', path='ArrayList.contains')
        """
        match = _REFERENCE.fullmatch(text)
        if match is None:
            raise InputError(
                f"{text!r} names no Python function",
                fix="write module:function or module:Class.method, as pkg.lists:sort",
            )
        return cls(match[1], match[2])

    def __str__(self) -> str:
        return f"{self.module}:{self.path}"


class PythonGenerator(Struct, frozen=True):
    """A workload or an instance, with its ``arguments`` before a formula's parameters."""

    method: PythonMethod
    arguments: tuple[Setting, ...] = ()

    @classmethod
    def parse(cls, text: str) -> PythonGenerator:
        """Read a reference, or one with numbers and texts in brackets.

        Raises:
            InputError: for any other text.

        >>> PythonGenerator.parse("bench:rand('uniform', 3)").arguments
        ('uniform', 3)
        """
        match = _CALL.fullmatch(text)
        if match is None:
            return cls(PythonMethod.parse(text))
        try:
            arguments = ast.literal_eval(f"[{match[2]}]")
        except (SyntaxError, ValueError):
            arguments = [None]
        if any(type(each) not in (bool, int, float, str) for each in arguments):
            raise InputError(
                f"{text!r} has arguments that are not numbers and texts", fix="write as rand('uniform', 3)"
            )
        return cls(PythonMethod.parse(match[1]), tuple(arguments))

    @property
    def name(self) -> str:
        """The name in the names of benchmarks: without its module."""
        return f"{self.method.path}{self._suffix}"

    @property
    def _suffix(self) -> str:
        return f"({', '.join(map(repr, self.arguments))})" if self.arguments else ""

    def __str__(self) -> str:
        return f"{self.method}{self._suffix}"


INITIAL: Final = "__init__.py"
"""The source file of a package itself."""

_DIGITS = 16
_CLASS, _MEASURED = "classmethod", "measured"
_LEAVING = {"workload", "instance", _MEASURED, "spl", "staticmethod", _CLASS}
"""The decorators that do not change a function's signature."""
_COMPILED = {".so", ".pyd"}


class TakenArguments(NamedTuple):
    """The signature of a function as written, and whether no decorator may have changed it."""

    signature: Signature
    exact: bool


class WorkingTree(Struct, frozen=True):
    """A project's folder, and the folders below it from which its modules are imported."""

    root: Path
    roots: tuple[str, ...]

    def file(self, module: str) -> Path | None:
        """The source file of a module, relative to the project's folder; None for a module from elsewhere."""
        return next((file for file in self.files(module) if file.suffix == ".py"), None)

    def files(self, module: str) -> tuple[Path, ...]:
        """A module's source, else its compiled files, for any Python; empty for a module from elsewhere."""
        parts = Path(*module.split("."))
        for root in self.roots:
            for candidate in (Path(root) / parts / INITIAL, Path(root) / parts.with_suffix(".py")):
                if (self.root / candidate).is_file():
                    return (candidate,)
            compiled = (self.root / root / parts).parent.glob(f"{parts.name}.*")
            if found := sorted(each.relative_to(self.root) for each in compiled if each.suffix in _COMPILED):
                return tuple(found)
        return ()

    def mark(self, file: Path) -> str:
        """A file's path with the start of the SHA-256 of its content."""
        return f"{file.as_posix()}={hashlib.sha256((self.root / file).read_bytes()).hexdigest()[:_DIGITS]}"

    def taken(self, method: PythonMethod) -> TakenArguments | None:
        """The signature of a function; None if it, or its module, is from elsewhere.

        Raises:
            InputError: where the module has no such function, or is not valid Python.
        """
        defined = self._definition(method)
        if defined is None:
            return None
        decorators = {_name(each) for each in defined.decorator_list}
        takes = _signature(defined.args).without(1 if _CLASS in decorators else 0)
        return TakenArguments(takes, exact=decorators <= _LEAVING)

    def measures(self, method: PythonMethod) -> bool:
        """Whether a function measures itself, as far as the working tree shows."""
        try:
            defined = self._definition(method)
        except InputError:
            return False
        return defined is not None and _MEASURED in map(_name, defined.decorator_list)

    def _definition(self, method: PythonMethod) -> Function | None:
        """The definition of a function, followed through modules that import it from one another.

        Raises:
            InputError: where the module has no such function, or is not valid Python.
        """
        seen: set[PythonMethod] = set()
        while method not in seen and (file := self.file(method.module)) is not None:
            seen.add(method)
            module = parsed_file(self.root / file)
            found = dict(_functions(module))
            if method.path in found:
                return found[method.path]
            first, _, rest = method.path.partition(".")
            if (origin := dict(_origins(module, method.module, file)).get(first)) is None:
                if not {first, "*"}.isdisjoint(_others(module)):
                    return None
                raise InputError(f"{file} has no function {method.path!r}", fix=suggestion(method.path, found))
            method = PythonMethod(origin.module, f"{origin.path}.{rest}" if rest else origin.path)
        return None


Function = ast.FunctionDef | ast.AsyncFunctionDef


def parsed_file(path: Path) -> ast.Module:
    """The syntax tree of a file, cached while the file does not change.

    Raises:
        InputError: where it is not valid Python.
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
        raise InputError(f"it is not Python: {error}", place=Place(str(path))) from None


def _functions(body: ast.AST, within: str = "") -> Iterator[tuple[str, Function]]:
    """The functions of a module and of its classes, by their paths."""
    for node in ast.iter_child_nodes(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{within}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{within}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _functions(node, within)


def absolute(node: ast.ImportFrom, module: str, file: Path) -> str:
    """The absolute name of the module in ``from ... import``; ``file`` shows whether the importing one is a package."""
    if not node.level:
        return node.module or ""
    package = module.split(".") if file.name == INITIAL else module.split(".")[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


def _origins(body: ast.Module, module: str, file: Path) -> Iterator[tuple[str, PythonMethod]]:
    """The names that are imported from another module, with their origins there."""
    for node in ast.walk(body):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, PythonMethod(absolute(node, module, file), alias.name)


def _signature(written: ast.arguments) -> Signature:
    positional = [one.arg for one in (*written.posonlyargs, *written.args)]
    needed = len(positional) - len(written.defaults)
    names = {name: place < needed for place, name in enumerate(positional)}
    names.update((one.arg, each is None) for one, each in zip(written.kwonlyargs, written.kw_defaults, strict=True))
    more = written.vararg is not None, written.kwarg is not None
    return Signature(names, len(written.posonlyargs), len(positional), *more)


def _name(decorator: ast.expr) -> str:
    """The last component of a decorator's name."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return str(getattr(function, "attr", getattr(function, "id", "")))


def _others(module: ast.Module) -> Iterator[str]:
    """The names that a module imports or assigns; ``*`` for a star import."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


_LOADERS = {"import_module", "__import__"}


def imported_files(tree: WorkingTree, modules: Iterable[str]) -> frozenset[Path]:
    """The files of modules and of all modules that they import, anywhere in their code; relative to the tree's folder.

    Modules from elsewhere are omitted, and so are module names that are computed.
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
    except InputError:  # importing it reports the error
        return
    for node in ast.walk(parsed):
        for name in _named_modules(node, module, file):
            if all(part.isidentifier() for part in name.split(".")):
                yield from _with_packages(name)


def _named_modules(node: ast.AST, module: str, file: Path) -> Iterator[str]:
    """The modules that a statement names; for ``from a import b`` also ``a.b``, which may be a module."""
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


GivenParameters = Mapping[str, Setting] | Sequence[Setting]
"""Parameters by name, or by position."""

_KNOWN: Final[Mapping[str, object]] = {RNG: None}


class GeneratorError(InputError):
    """A workload or an instance (``kind``) does not take its own arguments."""

    def __init__(self, kind: str, message: str, *, fix: str) -> None:
        super().__init__(message, fix=fix)
        self.kind = kind


class ParameterizedFunction(Struct, frozen=True):
    """A function that takes parameters, after its ``own`` arguments; its first ``skipped`` arguments come from Hati.

    ``kind`` is ``workload``, ``instance``, or empty for the measured function itself.
    """

    kind: str
    method: PythonMethod
    own: tuple[Setting, ...] = ()
    skipped: int = 0

    @property
    def known(self) -> Mapping[str, object]:
        """The arguments that Hati passes by name; empty if a function is called directly."""
        return _KNOWN if self.kind or self.skipped else {}

    def taken(self, tree: WorkingTree) -> TakenArguments | None:
        """Its signature for parameters and own arguments; None if unknown.

        Raises:
            InputError: where its module has no such function.
        """
        found = tree.taken(self.method)
        return None if found is None else found._replace(signature=found.signature.without(self.skipped))


def functions_with_parameters(
    tree: WorkingTree, target: PythonMethod, generators: Mapping[str, PythonGenerator]
) -> tuple[ParameterizedFunction, ...]:
    """The functions that take parameters: the generators, else the method itself."""
    if generators:
        return tuple(ParameterizedFunction(kind, each.method, each.arguments) for kind, each in generators.items())
    return (ParameterizedFunction("", target, skipped=int(tree.measures(target))),)


def named(parameters: GivenParameters, tree: WorkingTree, every: Sequence[ParameterizedFunction]) -> dict[str, Setting]:
    """Parameters by name; those given by position get the names from the first function with free parameters.

    These names are only for people: the function of an old revision may have others.
    """
    if isinstance(parameters, Mapping):
        return dict(parameters)
    known = next((names for taker in every if (names := _left(taker, tree))), ())
    names = (*known[: len(parameters)], *(f"p{i + 1}" for i in range(len(known), len(parameters))))
    return dict(zip(names, parameters, strict=True))


def validate_parameters(
    method: str, parameters: GivenParameters, tree: WorkingTree, every: Sequence[ParameterizedFunction]
) -> None:
    """Check that each function has its parameters, and that each parameter is used, as far as the working tree shows.

    The signature of the method itself may differ by revision: the recorder checks it.

    Raises:
        GeneratorError: for more own arguments than a generator takes.
        InputError: for an unused parameter, or a missing one.
    """
    asked = Parameters(list(_pairs(parameters)))
    exact = True
    for taker in every:
        taken = taker.taken(tree) if taker.kind or taker.skipped else None
        if taken is None or not taken.exact:
            exact = False
            continue
        try:
            asked.taken(taker.method.path, taken.signature, taker.own, taker.known)
        except Trouble as trouble:
            raise GeneratorError(taker.kind, str(trouble), fix="leave some out") from None
    if not exact:
        return
    if useless := asked.useless(method):
        raise InputError(useless, fix="leave it out, or rename it")
    for message, fix in asked.missing:
        raise InputError(message, fix=fix)


def _pairs(parameters: GivenParameters) -> Sequence[tuple[str, Setting]]:
    if isinstance(parameters, Mapping):
        return list(parameters.items())
    return [("", value) for value in parameters]


def _left(taker: ParameterizedFunction, tree: WorkingTree) -> tuple[str, ...]:
    """The names of a function's free parameters in the working tree; empty if it lacks the function."""
    try:
        found = taker.taken(tree)
    except InputError:
        return ()
    return () if found is None else found.signature.free(taker.known, len(taker.own))
