"""What workloads, instances and loops are given, as far as the working tree tells what they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from hati.core import InputError, Setting
from hati.python.injected.parameters import RNG, Parameters
from hati.python.injected.trouble import Trouble
from hati.python.method import PythonGenerator, PythonMethod
from hati.python.sources import TakenArguments, WorkingTree

GivenParameters = Mapping[str, Setting] | Sequence[Setting]
"""Parameters by their names, or by their places."""

_KNOWN: Final[Mapping[str, object]] = {RNG: None}


class GeneratorError(InputError):
    """That a workload or an instance, as ``kind`` says, cannot be given what is in its brackets."""

    def __init__(self, kind: str, message: str, *, fix: str) -> None:
        super().__init__(message, fix=fix)
        self.kind = kind


class ParameterizedFunction(Struct, frozen=True):
    """A function that parameters are for, after arguments of its own; the first ``skipped`` are Hati's to give.

    ``kind`` is ``workload``, ``instance``, or empty for the measured function itself.
    """

    kind: str
    method: PythonMethod
    own: tuple[Setting, ...] = ()
    skipped: int = 0

    @property
    def known(self) -> Mapping[str, object]:
        """What Hati gives by its name: nothing where a function is called as it is."""
        return _KNOWN if self.kind or self.skipped else {}

    def taken(self, tree: WorkingTree) -> TakenArguments | None:
        """What it takes of parameters and arguments; None where that is not known.

        Raises:
            InputError: where its module has no such function.
        """
        found = tree.taken(self.method)
        return None if found is None else found._replace(signature=found.signature.without(self.skipped))


def functions_with_parameters(
    tree: WorkingTree, target: PythonMethod, generators: Mapping[str, PythonGenerator]
) -> tuple[ParameterizedFunction, ...]:
    """Who takes parameters: the generators, else the method itself."""
    if generators:
        return tuple(ParameterizedFunction(kind, each.method, each.arguments) for kind, each in generators.items())
    return (ParameterizedFunction("", target, skipped=int(tree.measures(target))),)


def named(parameters: GivenParameters, tree: WorkingTree, every: Sequence[ParameterizedFunction]) -> dict[str, Setting]:
    """Parameters by their names; those that are given by place have the names of the first taker that has some left.

    What an old revision's function takes may be something else: it is a name for people.
    """
    if isinstance(parameters, Mapping):
        return dict(parameters)
    known = next((names for taker in every if (names := _left(taker, tree))), ())
    names = (*known[: len(parameters)], *(f"p{i + 1}" for i in range(len(known), len(parameters))))
    return dict(zip(names, parameters, strict=True))


def validate_parameters(
    method: str, parameters: GivenParameters, tree: WorkingTree, every: Sequence[ParameterizedFunction]
) -> None:
    """See that each function has what it needs, and a use for what it is given, where the working tree tells.

    What a method takes itself is another thing in each revision: the recorder sees to it.

    Raises:
        GeneratorError: for more arguments of its own than a generator takes.
        InputError: for a parameter that none takes, or that one needs and has not.
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
    """The names of a function's places, as far as the working tree has it: an old revision may have another."""
    try:
        found = taker.taken(tree)
    except InputError:
        return ()
    return () if found is None else found.signature.free(taker.known, len(taker.own))
