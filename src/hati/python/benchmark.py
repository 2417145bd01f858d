"""From a function, its workload and its instance generator to a benchmark like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hati.core import Benchmark, ConfigurationFile, InputError, Reader, ReaderKind, Setting, Workload
from hati.python.injection import recorder
from hati.python.interpreter import Interpreter
from hati.python.method import PythonMethod
from hati.python.recording import Recording
from hati.python.sources import WorkingTree

_FILE = "recorder.py"
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
    workload and instance are those of the working tree ``root``, whichever that revision is, and their files'
    contents are part of the benchmark. Parameters in order get the names that the workload's have (else the
    instance's, else the method's own). The name is that of the method and its generators unless one is given;
    ``timeout``, in seconds, is a minute and ten times what is to be recorded.

    Raises:
        InputError: for a reference that is none, a generator that the working tree does not have, or a parameter
            with a name that commands have a use for.
    """
    recording, interpreter = recording or Recording(), interpreter or Interpreter()
    tree = WorkingTree(root.resolve(), interpreter.roots)
    target = PythonMethod.parse(method)
    generators = {
        kind: PythonMethod.parse(text) for kind, text in (("workload", workload), ("instance", instance)) if text
    }
    marks = _marks(tree, [*generators.values()])
    given = _named(parameters, tree, [*generators.values()] or [target])
    names = [f"{kind}={generator}" for kind, generator in generators.items()]
    return Benchmark(
        name or _called(target, [*generators.values()]),
        (
            *(interpreter.program, "-S", "-E", f"{{file:{_FILE}}}", f"method={target}", *names),
            *("working={work}/../../..", *interpreter.arguments, *recording.arguments),
            *(f"parameter={_TYPES[type(value)]}:{key}={{{key}}}" for key, value in given.items()),
            *(f"source={_literal(mark)}" for mark in marks),
        ),
        Reader(ReaderKind.HATI),
        recording.read,
        build=None if interpreter.environment is None else interpreter.environment.build,
        files=(ConfigurationFile(_FILE, _as_it_is(recorder()), "hati's recorder"),),
        timeout=_PATIENCE + 10 * recording.seconds if timeout is None else timeout,
        cpus=cpus,
        workload=Workload(given),
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


def _known(taker: PythonMethod, tree: WorkingTree) -> tuple[str, ...]:
    """The names of a function's parameters, as far as the working tree has it: an old revision may have another."""
    try:
        return tree.parameters(taker) or ()
    except InputError:
        return ()


def _marks(tree: WorkingTree, generators: Sequence[PythonMethod]) -> list[str]:
    """The files of the generators, with their contents' hashes."""
    for generator in generators:
        tree.parameters(generator)
    files = {file for generator in generators if (file := tree.file(generator.module)) is not None}
    return sorted(map(tree.mark, files))


def _called(method: PythonMethod, generators: Sequence[PythonMethod]) -> str:
    listed = ", ".join(generator.path for generator in generators)
    return f"{method}[{listed}]" if listed else str(method)


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _as_it_is(source: str) -> str:
    return f"{{% raw %}}{source}{{% endraw %}}"
