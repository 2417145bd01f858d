"""The program that a measured interpreter runs: from its arguments to JSON lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from . import marks
from .calls import MOST, Calls, Receiver
from .forking import Original
from .installed import installed
from .offering import offer
from .parameters import Parameters
from .places import Places
from .recording import Order, Recorded, record_calls, record_loop
from .replacing import all_replaced, as_it_is
from .signature import signature
from .trouble import Trouble, ended, nearest, traced
from .version import folders, version

_TYPES: dict[str, Callable[[str], Any]] = {"int": int, "real": float, "text": str, "bool": lambda text: text == "true"}
_RELEASE = ".packages"
_COROUTINE = 0x80
_OWN = ".argument"
_NAMED = "named."


class Request:
    """What is asked for: ``key=value`` arguments.

    Of these ``parameter``, ``source``, ``workload.argument``, ``instance.argument`` and ``named.KIND`` may come several
    times.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        pairs = [argument.partition("=")[::2] for argument in arguments]
        self._values = dict(pairs)
        self.parameters = [_parameter(value) for key, value in pairs if key == "parameter"]
        self._own = [(key[: -len(_OWN)], _parameter(value)[1]) for key, value in pairs if key.endswith(_OWN)]
        self.sources = [value for key, value in pairs if key == "source"]
        self.named = [(key[len(_NAMED) :], value) for key, value in pairs if key.startswith(_NAMED)]

    def __getitem__(self, key: str) -> str:
        return self._values.get(key, "")

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def own(self, kind: str) -> list[Any]:
        """The arguments that a workload or an instance is given in its brackets."""
        return [value for of, value in self._own if of == kind]

    @property
    def order(self) -> Order:
        """How much to take."""
        return Order(
            int(self["observations"]),
            float(self["seconds"]),
            int(self["warmup"]),
            float(self["overhead"]),
            self["collector"],
            self["cpu"] == "true",
            self["calls"] or "batched",
        )

    @property
    def most(self) -> int:
        """Bytes that the arguments of a batch may take."""
        return int(self["memory"] or MOST)


def main(arguments: Sequence[str]) -> int:
    """Record, and print what was recorded, or what is stated; what cannot be is told in the last line of the errors."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # what the subject prints must not be taken for a reading
        request, original = Request(arguments), Original()
        try:
            _see_version(request["version"])
            _see_packages(request["packages"])
            if request["tell"] or request.named:
                told = tell(request) if request["tell"] else unresolved(request)
                original.see()
                out.write(told)
                return 0
            recorded = record(request, original.see)
            original.see()
            original.see_alone()
        except Trouble as trouble:
            sys.stderr.write(f"hati: {trouble}\n")
            original.fails(str(trouble))
            return 1
        except SystemExit as error:
            if not original.here:
                raise
            sys.stderr.write(f"hati: {ended('what is measured ended the process, as by sys.exit', error)}\n")
            return 1
        except Exception as error:  # noqa: BLE001  # whatever the measured code raises
            told = traced(error)
            sys.stderr.write(told)
            original.fails(told.splitlines()[-1])
            return 1
        if recorded.overhead > request.order.overhead:
            share = f"{recorded.overhead:.1%} of an observation"
            sys.stderr.write(f"hati: the clock's cost or resolution is {share}: time more at once\n")
        if request.order.calls == "single" and not recorded.single:
            sys.stderr.write("hati: calls are too short to be timed one by one: their mean is known, no quantile is\n")
        write(recorded, out.write)
    return 0


def tell(request: Request) -> str:
    """What is stated in a module of the working tree, as JSON."""
    places = Places(request["working"], request["working"], request["roots"].split(":"), False)
    places.open()
    offer()
    from .telling import told

    return told(places.generators(request["tell"]))


def unresolved(request: Request) -> str:
    """Why names cannot be measured in this folder's revision, as JSON; those that can be are left out."""
    from json import dumps

    places = Places(os.getcwd(), request["working"], request["roots"].split(":"), False)
    places.open()
    offer()
    reasons = {}
    for kind, text in request.named:
        try:
            _resolve(places, kind, text)
        except Trouble as trouble:
            reasons[text] = str(trouble)
        except Exception as error:  # noqa: BLE001  # whatever a module raises as it is imported
            reasons[text] = traced(error).splitlines()[-1]
    return dumps(reasons)


def _resolve(places: Places, kind: str, text: str) -> None:
    if kind == "method":
        _method(places, text)
    else:
        _generator(places, text, kind)


def record(request: Request, see: Callable[[], object]) -> Recorded:
    """Import what is named, and measure it; between observations comes ``see``.

    Raises:
        Trouble: where something is not there, or is not what it should be.
    """
    places = Places(os.getcwd(), request["working"], request["roots"].split(":"), _is_release())
    for source in request.sources:
        _see_unchanged(places.working, source)
    places.open()
    offer()
    recorded = _recorded(places, request, see)
    if "imports" in request:
        _see_planned(places, request["imports"])
    return recorded


def _recorded(places: Places, request: Request, see: Callable[[], object]) -> Recorded:
    parameters = Parameters(request.parameters, request["seed"])
    owner, method = _method(places, request["method"])
    if marks.kind(method) == "measured":
        return record_loop(_loop(request, parameters, method), request.order, see)
    if getattr(getattr(method, "__code__", None), "co_flags", 0) & _COROUTINE:
        raise Trouble(f"{request['method']} is a coroutine function: measure one that runs it, as by asyncio.run")
    return record_calls(_calls(places, request, parameters, owner, method), request.order, see)


def write(recorded: Recorded, put: Callable[[str], object]) -> None:
    """The JSON lines of reader ``hati``: of both clocks the seconds of a call."""
    scale = 1e-9 / recorded.batch
    series = {"wall_time": recorded.wall, "cpu_time": recorded.cpu}
    for name, values in series.items():
        for part, warmup in ((values[: recorded.warmup], "true"), (values[recorded.warmup :], "false")):
            if part:
                seconds = [value * scale for value in part]
                put(f'{{"metric": "{name}", "unit": "s", "values": {seconds!r}, "warmup": {warmup}}}\n')
    single = {
        "peak_memory": (recorded.memory, "B"),
        "batch": (recorded.batch, "count"),
        "single_calls": (int(recorded.single), "1"),
        "timer_share": (recorded.overhead, "1"),
        "hash_seed": (int(os.environ.get("PYTHONHASHSEED", "0")), "1"),
    }
    for name, (value, unit) in single.items():
        put(f'{{"metric": "{name}", "unit": "{unit}", "value": {value!r}}}\n')


def _loop(request: Request, parameters: Parameters, method: Any) -> Callable[..., Any]:
    for kind in ("workload", "instance"):
        if request[kind]:
            raise Trouble(f"{request['method']} measures by itself, and takes no {kind}: leave {request[kind]} out")
    loop = parameters.bound(method, skipped=1)
    parameters.see_given(request["method"])
    return loop


def _calls(places: Places, request: Request, parameters: Parameters, owner: Any, method: Any) -> Calls:
    arguments = receiver = None
    if request["workload"]:
        arguments = parameters.bound(_generator(places, request["workload"], "workload"), request.own("workload"))
    if request["instance"]:
        generator = _generator(places, request["instance"], "instance")
        if not isinstance(owner, type):
            raise Trouble(f"{request['method']} is not a method of a class, and takes no instance")
        name = request["method"].rpartition(".")[2]
        make = parameters.bound(generator, request.own("instance"))
        receiver = Receiver(make, marks.freshness(generator), owner, name)
    given = arguments is None and receiver is None and parameters.values
    calls = _given(method, parameters) if given else None
    parameters.see_given(request["method"])
    return calls or Calls(method, arguments, receiver, request.most)


def _given(method: Any, parameters: Parameters) -> Calls:
    """Calls with the parameters; by place where that will do, as a call by name takes longer."""
    if hasattr(method, "__code__"):
        listed, named = parameters.taken(method.__qualname__, signature(method))
    else:  # of what is written in C nobody knows what it takes
        listed, named = parameters.take_all()
    if named:
        return Calls(lambda: method(*listed, **named), None)
    return Calls(method, lambda: listed)


def _method(places: Places, text: str) -> tuple[Any, Any]:
    """What holds the measured function, and the function; one that measures by itself is the working tree's."""
    module, _, path = text.partition(":")
    try:
        found = _member(places.subject(module), path)
    except (ModuleNotFoundError, Trouble) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and not f"{module}.".startswith(f"{error.name}."):
            raise
        why = error if isinstance(error, Trouble) else Trouble(f"there is no module {module} in {places.searched}")
        try:
            found = _member(places.generators(module, as_it_is), path)
        except (ModuleNotFoundError, Trouble):
            raise why from None
        if marks.kind(found[1]) != "measured":
            raise why from None
    if marks.kind(found[1]) == "measured":
        return _member(places.generators(module, all_replaced), path)
    if not callable(found[1]):
        raise Trouble(f"{text} is a {type(found[1]).__name__}, nothing that can be called")
    return found


def _generator(places: Places, text: str, kind: str) -> Any:
    module, _, path = text.partition(":")
    try:
        function = _member(places.generators(module), path)[1]
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise Trouble(f"there is no module {module} for the {kind} {path}") from None
    if marks.kind(function) != kind:
        raise Trouble(f"{text} is not a {kind}: write @hati.{kind} above it")
    return function


def _member(module: ModuleType, path: str) -> tuple[Any, Any]:
    holder, found = None, module
    for name in path.split("."):
        holder = found
        if not hasattr(holder, name):
            where = getattr(holder, "__qualname__", module.__name__)
            raise Trouble(f"{where} has no {name!r}{nearest(name, dir(holder))}")
        found = getattr(holder, name)
    return holder, found


def _see_unchanged(working: str, source: str) -> None:
    """See that a file of the working tree is what it was when the measurement was planned."""
    path, _, expected = source.rpartition("=")
    try:
        with open(os.path.join(working, path), "rb") as file:
            content = file.read()
    except OSError as error:
        raise Trouble(f"{path} cannot be read: {error.strerror}") from None
    if _sha256(content).hexdigest()[: len(expected)] != expected:
        raise Trouble(f"{path} was edited since the measurement was planned; start it again")


def _see_planned(places: Places, listed: str) -> None:
    """See that what was loaded from the working tree is what the measurement was planned with."""
    with open(listed, encoding="utf-8") as file:
        planned = dict(line.rstrip("\n").rpartition("=")[::2] for line in file)
    for name, path in places.loaded():
        if path not in planned:
            raise Trouble(
                f"{path} of the working tree was loaded, as {name}, and no import in the workload's module names it: "
                "import it there, so that an edit of it counts"
            )
        _see_unchanged(places.working, f"{path}={planned[path]}")


def _see_version(planned: str) -> None:
    """See that this is the Python that the measurement was planned for."""
    if planned and planned != version():
        raise Trouble(f"this Python is {version()}, and the measurement was planned for {planned}; start it again")


def _see_packages(planned: str) -> None:
    """See that what is installed is what the measurement was planned with; a release is installed beside it."""
    if planned and not _is_release():
        told = _sha256(os.fsencode(installed(folders()))).hexdigest()
        if told[: len(planned)] != planned:
            raise Trouble(
                f"what is installed for {sys.executable} changed since the measurement was planned; start it again"
            )


def _is_release() -> bool:
    return os.environ.get("PYTHONPATH", "").split(os.pathsep)[0].endswith(_RELEASE)


def _sha256(content: bytes) -> Any:
    from importlib import import_module

    for name in ("_sha2", "_sha256", "hashlib"):  # the last loads OpenSSL
        try:
            return import_module(name).sha256(content)
        except ImportError:
            continue
    raise AssertionError


def _parameter(text: str) -> tuple[str, Any]:
    kind, _, rest = text.partition(":")
    name, _, value = rest.partition("=")
    return name, _TYPES[kind](value)
