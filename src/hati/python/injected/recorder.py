"""The program that a measured interpreter runs: from its arguments to JSON lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from . import marks
from .calls import MOST, Calls, Receiver
from .counting import asked, counter
from .forking import Original
from .installed import installed
from .offering import offer
from .parameters import Parameters
from .places import Places
from .recording import Counted, Order, Recorded, count_calls, record_calls, record_loop
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
    """The recorder's ``key=value`` arguments.

    ``parameter``, ``source``, ``workload.argument``, ``instance.argument`` and ``named.KIND`` may be repeated.
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
        """The arguments in the brackets of a workload or an instance."""
        return [value for of, value in self._own if of == kind]

    @property
    def order(self) -> Order:
        """How much to measure."""
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
        """The most memory for the arguments of a batch, in bytes."""
        return int(self["memory"] or MOST)


def main(arguments: Sequence[str]) -> int:
    """Measure and print the observations, or print statements; the last line on stderr says why neither is possible."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # what the subject prints must not be taken for a reading
        request, original = Request(arguments), Original()
        try:
            _check_version(request["version"])
            _check_packages(request["packages"])
            if request["tell"] or request.named:
                text = describe(request) if request["tell"] else unresolved(request)
                original.check()
                out.write(text)
                return 0
            recorded = record(request, original.check)
            original.check()
            original.check_alone()
        except Trouble as trouble:
            sys.stderr.write(f"hati: {trouble}\n")
            original.fails(str(trouble))
            return 1
        except SystemExit as error:
            if not original.here:
                raise
            sys.stderr.write(f"hati: {ended('the measured code ended the process, as with sys.exit', error)}\n")
            return 1
        except Exception as error:  # noqa: BLE001  # whatever the measured code raises
            text = traced(error)
            sys.stderr.write(text)
            original.fails(text.splitlines()[-1])
            return 1
        for warning in recorded.warnings(request.order):
            sys.stderr.write(f"hati: {warning}\n")
        recorded.write(out.write)
    return 0


def describe(request: Request) -> str:
    """The statements in a module of the working tree, as JSON."""
    places = Places(request["working"], request["working"], request["roots"].split(":"), False)
    places.open()
    offer()
    from .statement_json import as_json

    return as_json(places.generators(request["tell"]))


def unresolved(request: Request) -> str:
    """The names that cannot be measured in this folder's revision, each with the reason, as JSON."""
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


def record(request: Request, check: Callable[[], object]) -> Recorded | Counted:
    """Import the named functions and measure; ``check`` is called between observations.

    Raises:
        Trouble: if a function is missing or is not of the expected kind.
    """
    places = Places(os.getcwd(), request["working"], request["roots"].split(":"), _is_release())
    for source in request.sources:
        _check_unchanged(places.working, source)
    places.open()
    offer()
    recorded = _recorded(places, request, check)
    if "imports" in request:
        _check_planned(places, request["imports"])
    return recorded


def _recorded(places: Places, request: Request, check: Callable[[], object]) -> Recorded | Counted:
    names, place = asked()
    parameters = Parameters(request.parameters, request["seed"])
    owner, method = _method(places, request["method"])
    if marks.kind(method) == "measured":
        if names:
            raise Trouble(
                f"{request['method']} is a measuring function, whose events are not counted: count those of the "
                "function that it calls, with a workload"
            )
        return record_loop(_loop(request, parameters, method), request.order, check)
    if getattr(getattr(method, "__code__", None), "co_flags", 0) & _COROUTINE:
        raise Trouble(f"{request['method']} is a coroutine function: measure one that runs it, as by asyncio.run")
    calls = _calls(places, request, parameters, owner, method)
    if names:
        return count_calls(calls, request.order, names, counter(names, place), check)
    return record_calls(calls, request.order, check)


def _loop(request: Request, parameters: Parameters, method: Any) -> Callable[..., Any]:
    for kind in ("workload", "instance"):
        if request[kind]:
            raise Trouble(f"{request['method']} is a measuring function and takes no {kind}: leave {request[kind]} out")
    loop = parameters.bound(method, skipped=1)
    parameters.check_given(request["method"])
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
    parameters.check_given(request["method"])
    return calls or Calls(method, arguments, receiver, request.most)


def _given(method: Any, parameters: Parameters) -> Calls:
    """Calls with the parameters, by position where possible: keyword arguments take longer."""
    if hasattr(method, "__code__"):
        listed, named = parameters.taken(method.__qualname__, signature(method))
    else:  # the signature of a C function is not known
        listed, named = parameters.take_all()
    if named:
        return Calls(lambda: method(*listed, **named), None)
    return Calls(method, lambda: listed)


def _method(places: Places, text: str) -> tuple[Any, Any]:
    """The holder of the measured function, and the function; a measuring function comes from the working tree."""
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
        raise Trouble(f"{text} is a {type(found[1]).__name__}, which cannot be called")
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


def _check_unchanged(working: str, source: str) -> None:
    """Check that a file of the working tree has not changed since the measurement was planned."""
    path, _, expected = source.rpartition("=")
    try:
        with open(os.path.join(working, path), "rb") as file:
            content = file.read()
    except OSError as error:
        raise Trouble(f"{path} cannot be read: {error.strerror}") from None
    if _sha256(content).hexdigest()[: len(expected)] != expected:
        raise Trouble(f"{path} was edited since the measurement was planned; start it again")


def _check_planned(places: Places, listed: str) -> None:
    """Check that all files loaded from the working tree were planned for, and have not changed since."""
    with open(listed, encoding="utf-8") as file:
        planned = dict(line.rstrip("\n").rpartition("=")[::2] for line in file)
    for name, path in places.loaded():
        if path not in planned:
            raise Trouble(
                f"{path} of the working tree was loaded, as {name}, and no import in the workload's module names it: "
                "import it there, so that an edit of it counts"
            )
        _check_unchanged(places.working, f"{path}={planned[path]}")


def _check_version(planned: str) -> None:
    """Check that this is the Python that the measurement was planned for."""
    if planned and planned != version():
        raise Trouble(f"this Python is {version()}, and the measurement was planned for {planned}; start it again")


def _check_packages(planned: str) -> None:
    """Check that the installed packages are those of the plan; not in a release, which adds packages to them."""
    if planned and not _is_release():
        found = _sha256(os.fsencode(installed(folders()))).hexdigest()
        if found[: len(planned)] != planned:
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
