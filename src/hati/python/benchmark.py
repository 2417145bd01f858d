"""From a function, its workload and its instance generator to a benchmark like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hati.core import Benchmark, ConfigurationFile, InputError, Reader, ReaderKind, Setting, Workload
from hati.python.imports import imported_files
from hati.python.injection import recorder
from hati.python.interpreter import Interpreter
from hati.python.method import PythonMethod
from hati.python.recording import Recording
from hati.python.sources import WorkingTree

_FILE, _IMPORTS = "recorder.py", "imports.txt"
_TYPES = {bool: "bool", int: "int", float: "real", str: "text"}
_OWN = {"work", "revision", "repetition", "port"}
_PATIENCE = 60.0


def python_benchmark(
    method: str,
    *,
    workload: str = "",
    instance: str = "",
    parameters: Mapping[str, Setting] | Sequence[Setting] = (),
    root: Path,
    recording: Recording | None = None,
    interpreter: Interpreter | None = None,
    name: str = "",
    cpus: tuple[int, ...] = (),
    timeout: float | None = None,
) -> Benchmark:
    """The benchmark of ``method`` on what ``workload`` and ``instance`` make of the ``parameters``.

    All three are ``module:function`` or ``module:Class.method``. The method is that of the revision a task is for;
    workload and instance, and a method that measures itself, are those of the working tree ``root``, whichever that
    revision is; their files' contents, and those of what they import from there, are part of the benchmark, and so are
    which Python measures and what is installed for it. Parameters in order get the names that the workload's have
    (else the instance's, else the method's own). The name is that of the method and its generators unless one is
    given; ``timeout``, in seconds, is a minute and ten times what is to be recorded.

    Raises:
        InputError: for a reference that is none, a generator that the working tree does not have, or a parameter
            with a name that commands have a use for.
    """
    recording, interpreter = recording or Recording(), interpreter or Interpreter()
    root = root.resolve()
    tree, version = WorkingTree(root, interpreter.roots), interpreter.version(root)
    packages = interpreter.packages(root)
    target = PythonMethod.parse(method)
    generators = {
        kind: PythonMethod.parse(text) for kind, text in (("workload", workload), ("instance", instance)) if text
    }
    taken = [*generators.values(), *([target] if tree.measures(target) else [])]
    marks, imported = _marks(tree, taken), _imported(tree, taken)
    given = _named(parameters, tree, [*generators.values()] or [target])
    _see_taken(parameters, tree, method, [*generators.values()])
    names = [f"{kind}={generator}" for kind, generator in generators.items()]
    return Benchmark(
        name or _called(target, [*generators.values()]),
        (
            *(interpreter.program, "-S", "-E", f"{{file:{_FILE}}}", f"method={target}", *names),
            *("working={work}/../../..", *interpreter.arguments, *recording.arguments),
            *(_word(key, value, parameters) for key, value in given.items()),
            *(f"source={_literal(mark)}" for mark in marks),
            *(f"imports={{file:{_IMPORTS}}}", f"version={_literal(version)}"),
            *([f"packages={packages}"] if packages else []),
        ),
        Reader(ReaderKind.HATI),
        recording.read,
        build=None if interpreter.environment is None else interpreter.environment.build(version),
        files=(
            ConfigurationFile(_FILE, _as_it_is(recorder()), "hati's recorder"),
            ConfigurationFile(_IMPORTS, _as_it_is("\n".join(imported)), "what workloads import"),
        ),
        timeout=_PATIENCE + 10 * recording.seconds if timeout is None else timeout,
        cpus=cpus,
        workload=Workload(given),
        programs=interpreter.programs(root),
    )


def _named(
    parameters: Mapping[str, Setting] | Sequence[Setting], tree: WorkingTree, takers: Sequence[PythonMethod]
) -> dict[str, Setting]:
    if isinstance(parameters, Mapping):
        given = dict(parameters)
    else:
        known = next((names for taker in takers if (names := _known(taker, tree))), ())
        names = (*known[: len(parameters)], *(f"p{i + 1}" for i in range(len(known), len(parameters))))
        given = dict(zip(names, parameters, strict=True))
    for key in given:
        if key in _OWN or not key.isidentifier():
            raise InputError(f"a parameter may not be named {key!r}", fix="rename the generator's parameter")
    return given


def _word(key: str, value: Setting, parameters: Mapping[str, Setting] | Sequence[Setting]) -> str:
    """What the recorder is told of a parameter: no name where it was given by its place."""
    name = key if isinstance(parameters, Mapping) else ""
    return f"parameter={_TYPES[type(value)]}:{name}={{{key}}}"


def _see_taken(
    parameters: Mapping[str, Setting] | Sequence[Setting],
    tree: WorkingTree,
    method: str,
    generators: Sequence[PythonMethod],
) -> None:
    """See that generators have a use for each parameter, where the working tree tells what they take.

    What a method takes itself is another thing in each revision: the recorder sees to it.

    Raises:
        InputError: naming one that none takes.
    """
    taken = {each: tree.taken(each) for each in generators}
    if not taken or any(one is None or one.others for one in taken.values()):
        return
    known = {each.path: one.names for each, one in taken.items() if one is not None}
    every = {name for names in known.values() for name in names}
    most = max(len(names) for names in known.values())
    for place, key in enumerate(parameters):
        if (key not in every) if isinstance(parameters, Mapping) else place >= most:
            which = key if isinstance(parameters, Mapping) else f"{place + 1} ({key!r})"
            told = "; ".join(f"{path} takes {', '.join(names) or 'none'}" for path, names in known.items())
            raise InputError(f"{method} has no use for parameter {which}: {told}", fix="leave it out, or rename it")


def _known(taker: PythonMethod, tree: WorkingTree) -> tuple[str, ...]:
    """The names of a function's parameters, as far as the working tree has it: an old revision may have another."""
    try:
        found = tree.taken(taker)
    except InputError:
        return ()
    return () if found is None else found.names


def _marks(tree: WorkingTree, taken: Sequence[PythonMethod]) -> list[str]:
    """The files of the working tree's functions, with their contents' hashes."""
    for each in taken:
        tree.taken(each)
    files = {file for each in taken if (file := tree.file(each.module)) is not None}
    return sorted(map(tree.mark, files))


def _imported(tree: WorkingTree, taken: Sequence[PythonMethod]) -> list[str]:
    """The same with the files of all that they import."""
    return sorted(map(tree.mark, imported_files(tree, {each.module for each in taken})))


def _called(method: PythonMethod, generators: Sequence[PythonMethod]) -> str:
    listed = ", ".join(generator.path for generator in generators)
    return f"{method}[{listed}]" if listed else str(method)


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _as_it_is(source: str) -> str:
    return f"{{% raw %}}{source}{{% endraw %}}"
