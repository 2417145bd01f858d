"""Make an ordinary benchmark from a function, its workload and its instance generator, and define its recording.

The recorder is a single file, which any interpreter runs without Hati.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from hati.core import (
    SINGLE_CALLS,
    Benchmark,
    ConfigurationFile,
    InputError,
    Metric,
    Reader,
    ReaderKind,
    Setting,
    Workload,
    canonical_json,
    setting_text,
)
from hati.core.benchmark import COUNT, COUNTED_CALLS, COUNTERS, INSTRUCTIONS, PAGE_FAULTS, counted
from hati.python.injected.calls import MOST
from hati.python.interpreter import Interpreter
from hati.python.sources import (
    GivenParameters,
    ParameterizedFunction,
    PythonGenerator,
    PythonMethod,
    WorkingTree,
    functions_with_parameters,
    imported_files,
    named,
    validate_parameters,
)

_FOLDER = Path(__file__).with_name("injected")

_START = '''"""Hati's recorder: measures a Python function in a separate process."""
import os, sys
SELF = os.path.abspath(__file__)
MAIN = __name__ == "__main__"  # else it is a child process of the subject's, which multiprocessing has started
if sys.version_info < (3, 9):
    sys.exit("hati: measuring needs Python 3.9 or later, and this is %d.%d" % sys.version_info[:2])
if MAIN and "HATI_HASH_SEED" not in os.environ:  # nobody knows the hash seed of this process: take one that is known
    words = [word for word in sys.argv[1:] if word.startswith("hash_seed=")]
    seed = words[0][10:] if words else str(int.from_bytes(os.urandom(4), "big"))
    frozen = [word[7:] for word in sys.argv[1:] if word.startswith("frozen=")]
    options = ["-X", "frozen_modules=" + frozen[0]] if frozen and frozen[0] else []
    os.environ.update(PYTHONHASHSEED=seed, HATI_HASH_SEED=seed)
    os.execv(sys.executable, [sys.executable, *options, SELF, *sys.argv[1:]])
if MAIN:
    del os.environ["HATI_HASH_SEED"]
if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(SELF):
    del sys.path[0]

from importlib.machinery import ModuleSpec

PACKAGE = "_hati_recorder"


class Carried:
    """Finds and loads the recorder's modules, which are in this file."""

    def find_spec(self, name, path=None, target=None):
        if name != PACKAGE and not name.startswith(PACKAGE + "."):
            return None
        return ModuleSpec(name, self, origin=SELF, is_package=name == PACKAGE)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        leaf = module.__name__.rpartition(".")[2] if "." in module.__name__ else "__init__"
        exec(compile(SOURCES[leaf], "<hati recorder: " + leaf + ">", "exec"), module.__dict__)


SOURCES = {
'''

_END = """}
sys.meta_path.insert(0, Carried())
from _hati_recorder import recorder

if MAIN:
    arguments = sys.argv[1:]
    del sys.argv[1:]  # a module that reads these as it is imported must not take them for its own
    sys.exit(recorder.main(arguments))
recorder.offer()
"""


@cache
def recorder() -> str:
    """The source of the recorder: standard library only, Python 3.9 and later."""
    sources = {path.stem: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.py"))}
    return _START + "".join(f"{name!r}: {source!r},\n" for name, source in sources.items()) + _END


_RECORDER = "recorder.py"
_KINDS = ("method", "workload", "instance")
PATIENCE = 60.0


def names_of(benchmark: Benchmark) -> tuple[tuple[str, str], ...]:
    """The kinds and references in the benchmark of a Python function; empty for other benchmarks."""
    recorded = any(file.path == _RECORDER for file in benchmark.files)
    return tuple(_references(benchmark.command)) if recorded else ()


def _references(command: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in command:
        kind, equals, text = word.partition("=")
        if equals and kind in _KINDS:
            yield kind, text


def unresolved(names: Iterable[tuple[str, str]], root: Path, tree: Path, interpreter: Interpreter) -> dict[str, str]:
    """The reasons why references cannot be measured in the revision whose files are in ``tree``, by reference.

    Workloads and instances are those of the project ``root``.

    They are looked up by the interpreter that would measure them. If its process fails, the result is empty, and the
    first run reports the error.
    """
    wanted = [f"named.{kind}={text}" for kind, text in sorted(set(names))]
    if not wanted:
        return {}
    with TemporaryDirectory(prefix="hati-") as folder:
        script = Path(folder, _RECORDER)
        script.write_text(recorder(), encoding="utf-8")
        words = [interpreter.file(root), "-S", "-E", str(script), f"working={root.resolve()}"]
        try:
            done = subprocess.run(
                [*words, *interpreter.arguments, *wanted],
                cwd=tree,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
            return dict(json.loads(done.stdout)) if done.returncode == 0 else {}
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return {}


_MEASURED = {"wall_time": "s", "cpu_time": "s", "peak_memory": "B"}
UNITS: Final = {**_MEASURED, **dict.fromkeys(sorted(COUNTERS), COUNT)}
"""The metrics of a function: wall and processor time of a call, and the process's peak memory while a call runs.

Or the counts of a call's events, in runs of their own.
"""


class Collector(StrEnum):
    """The garbage collector while a function is measured.

    ``ON``: as in Python; ``OFF``; ``BETWEEN``: off while calls are timed, and run before each observation.
    """

    ON = "on"
    OFF = "off"
    BETWEEN = "between"


class CallKind(StrEnum):
    """The calls of an observation.

    ``BATCHED``: as many calls as the clocks need, each with an equal part of the time; this preserves the mean of the
    calls, but no quantile. ``SINGLE``: one call if it is long enough, else as many as the clocks need; the metric
    ``single_calls`` is 1 if it was one call.
    """

    BATCHED = "batched"
    SINGLE = "single"


class Recording(Struct, frozen=True):
    """How much a run records: ``observations``, or as many as fit in ``seconds``, whichever is less; at least one.

    Before them come ``warmup`` observations, again within ``seconds``. A batch has as many calls as are needed to keep
    the cost of reading the clocks at ``overhead`` of an observation at most, or one call, according to ``calls``; its
    arguments, created beforehand, take about ``memory`` bytes at most. ``seed`` and the run's repetition seed the
    workloads' random inputs.

    Raises:
        InputError: for a number out of its range, or a metric that cannot be measured.
    """

    observations: int = 100
    seconds: float = 1.0
    warmup: int = 10
    overhead: float = 0.01
    collector: Collector = Collector.ON
    metrics: tuple[str, ...] = tuple(_MEASURED)
    seed: int = 0
    calls: CallKind = CallKind.BATCHED
    memory: int = MOST

    def __post_init__(self) -> None:
        if self.observations < 1 or self.warmup < 0 or not self.seconds > 0:
            raise InputError(
                "a run records one observation or more, in more than 0 s, after no fewer than 0 of warm-up"
            )
        if not 0 < self.overhead < 1:
            raise InputError(f"overhead is {self.overhead:g}", fix="give a share above 0 and below 1, such as 0.01")
        if self.memory < 1:
            raise InputError("a batch has no memory for its arguments", fix=f"give it bytes, such as {MOST}")
        for name in self.metrics:
            if name not in UNITS:
                raise InputError(f"a function has no metric {name!r}", fix=f"it has: {', '.join(UNITS)}")
        counts = counted(self.metrics)
        if counts and (others := [name for name in self.metrics if name not in counts]):
            raise InputError(
                f"a run cannot record both {counts[0]} and {others[0]} of a function: what counts events slows it",
                fix="record them in two benchmarks, or assert them in two calls of `hati assert`",
            )

    @property
    def counted(self) -> tuple[str, ...]:
        """The events that are counted; instructions, if any except page faults, come first: they size the batches."""
        names = counted(self.metrics)
        if not names or names == (PAGE_FAULTS,):
            return names
        return tuple(dict.fromkeys([INSTRUCTIONS, *names]))

    @property
    def read(self) -> tuple[Metric, ...]:
        """The metrics of the benchmark."""
        words = (Metric(SINGLE_CALLS, "1"),) if self.calls is CallKind.SINGLE else ()
        return (*(Metric(name, UNITS[name]) for name in self.metrics), *words)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The recorder's arguments."""
        return (
            f"observations={self.observations}",
            f"seconds={self.seconds!r}",
            f"warmup={self.warmup}",
            f"overhead={self.overhead!r}",
            f"collector={self.collector}",
            f"cpu={'true' if 'cpu_time' in self.metrics else 'false'}",
            f"seed={self.seed}-{{repetition}}",
            f"calls={self.calls}",
            f"memory={self.memory}",
        )


_LOCAL = ("version=", "packages=")


def of_any_interpreter(definition: str) -> str:
    """The definition of a Python function's benchmark without the interpreter's version and its packages.

    Any other definition, and an empty one, is unchanged.
    """
    if not definition:
        return definition
    known = json.loads(definition)
    if not any(path == _RECORDER for path, _ in known["files"]):
        return definition
    without = {key: [word for word in known[key] or () if not word.startswith(_LOCAL)] for key in ("command", "build")}
    return canonical_json({**known, **without})


_IMPORTS = "imports.txt"
_TYPES = {bool: "bool", int: "int", float: "real", str: "text"}
_OWN = {"work", "revision", "repetition", "port"}


def python_benchmark(
    method: str,
    *,
    workload: str | PythonGenerator = "",
    instance: str | PythonGenerator = "",
    parameters: GivenParameters = (),
    root: Path,
    recording: Recording | None = None,
    interpreter: Interpreter | None = None,
    name: str = "",
    cpus: tuple[int, ...] = (),
    timeout: float | None = None,
) -> Benchmark:
    """The benchmark of ``method`` on the inputs that ``workload`` and ``instance`` make from the ``parameters``.

    All three are ``module:function`` or ``module:Class.method``. Workload and instance may have their own arguments,
    as in ``module:function('uniform')``, which come before the parameters. The method is that of the task's revision;
    workload and instance, and a method that measures itself, are always those of the working tree ``root``. The
    benchmark includes the contents of their files and of the files that these import from there, the interpreter's
    version and its packages. Parameters by position get the names of the workload's parameters (else the instance's,
    else the method's own). The default name is that of the method and its generators; the default ``timeout``, in
    seconds, is a minute plus ten times the recording time.

    Raises:
        InputError: for a malformed reference, a generator that the working tree lacks, a parameter with a name that
            commands use, and where the working tree shows that a generator does not take its arguments, or needs more.
    """
    recording, interpreter = recording or Recording(), interpreter or Interpreter()
    root = root.resolve()
    tree, version = WorkingTree(root, interpreter.roots), interpreter.version(root)
    packages = interpreter.packages(root)
    target = PythonMethod.parse(method)
    generators = _generators(workload=workload, instance=instance)
    taken = [*(each.method for each in generators.values()), *([target] if tree.measures(target) else [])]
    marks, imported = _marks(tree, taken), _imported(tree, taken)
    every = functions_with_parameters(tree, target, generators)
    given = _named(parameters, tree, every)
    validate_parameters(method, parameters, tree, every)
    words = [word for kind, generator in generators.items() for word in _generator_words(kind, generator)]
    return Benchmark(
        name or _called(target, [*generators.values()]),
        (
            *(*_started(interpreter, recording), f"{{file:{_RECORDER}}}", f"method={target}", *words),
            *("working={work}/../../..", *interpreter.arguments, *recording.arguments),
            *(_word(key, value, parameters) for key, value in given.items()),
            *(f"source={_literal(mark)}" for mark in marks),
            *(f"imports={{file:{_IMPORTS}}}", f"version={_literal(version)}"),
            *([f"packages={packages}"] if packages else []),
        ),
        Reader(ReaderKind.HATI),
        recording.read,
        build=() if interpreter.environment is None else (interpreter.environment.build(version),),
        files=(
            ConfigurationFile(_RECORDER, _as_it_is(recorder()), "hati's recorder"),
            ConfigurationFile(_IMPORTS, _as_it_is("\n".join(imported)), "what workloads import"),
        ),
        timeout=PATIENCE + 10 * recording.seconds if timeout is None else timeout,
        cpus=cpus,
        workload=Workload(given),
        programs=interpreter.programs(root),
        env=_counting(interpreter, recording),
    )


def _started(interpreter: Interpreter, recording: Recording) -> tuple[str, ...]:
    """The command that starts the recorder: it starts again with a hash seed, unless its environment has one."""
    if not recording.counted:
        return interpreter.program, "-S", "-E"
    frozen = ("-X", f"frozen_modules={interpreter.frozen_modules}") if interpreter.frozen_modules else ()
    return interpreter.program, *frozen


def _counting(interpreter: Interpreter, recording: Recording) -> tuple[tuple[str, str], ...]:
    """The variables of a run that counts events: their names, and the hash seed that is the same in all runs."""
    if not recording.counted:
        return ()
    seed = str(interpreter.hash_seed or 0)
    return (COUNTED_CALLS, ",".join(recording.counted)), ("HATI_HASH_SEED", seed), ("PYTHONHASHSEED", seed)


def _generators(**given: str | PythonGenerator) -> dict[str, PythonGenerator]:
    """The given generators, by their kinds."""
    return {
        kind: PythonGenerator.parse(each) if isinstance(each, str) else each for kind, each in given.items() if each
    }


def _named(
    parameters: GivenParameters, tree: WorkingTree, every: Sequence[ParameterizedFunction]
) -> dict[str, Setting]:
    given = named(parameters, tree, every)
    for key in given:
        if key in _OWN or not key.isidentifier():
            raise InputError(f"a parameter may not be named {key!r}", fix="rename the generator's parameter")
    return given


def _generator_words(kind: str, generator: PythonGenerator) -> list[str]:
    """The recorder's arguments for a generator."""
    own = [f"{kind}.argument={_TYPES[type(value)]}:={_literal(setting_text(value))}" for value in generator.arguments]
    return [f"{kind}={generator.method}", *own]


def _word(key: str, value: Setting, parameters: GivenParameters) -> str:
    """The recorder's argument for a parameter: without its name if it was given by position."""
    name = key if isinstance(parameters, Mapping) else ""
    return f"parameter={_TYPES[type(value)]}:{name}={{{key}}}"


def _marks(tree: WorkingTree, taken: Sequence[PythonMethod]) -> list[str]:
    """The files of the working tree's functions, with their contents' hashes."""
    for each in taken:
        tree.taken(each)
    files = {file for each in taken if (file := tree.file(each.module)) is not None}
    return sorted(map(tree.mark, files))


def _imported(tree: WorkingTree, taken: Sequence[PythonMethod]) -> list[str]:
    """The marks of these files and of all files that they import."""
    return sorted(map(tree.mark, imported_files(tree, {each.module for each in taken})))


def _called(method: PythonMethod, generators: Sequence[PythonGenerator]) -> str:
    listed = ", ".join(generator.name for generator in generators)
    return f"{method}[{listed}]" if listed else str(method)


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _as_it_is(source: str) -> str:
    return f"{{% raw %}}{source}{{% endraw %}}"
