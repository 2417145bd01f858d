"""Diagnosis of a space: contradictions, settings that cannot occur, options without a choice."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Setting
from hati.space.configurations import contradiction, occurring
from hati.space.constraint import Constraint
from hati.space.diagram import TooEntangledError
from hati.space.evaluation import holds
from hati.space.solver import Solver, UndecidedError
from hati.space.space import Space


class Diagnosis(Struct, frozen=True):
    """What a check of a space found; all empty where it is sound.

    ``contradiction``: constraints that cannot hold together, none of which can be spared. ``dead``:
    settings that no valid configuration has. ``forced``: options with a choice of which only that
    setting can occur. ``never_active``: options that no valid configuration has. ``violated``: the
    constraints that the default configuration breaks. ``undecided`` says what the solver could not
    decide within its bound of steps. Where there is a contradiction, nothing is valid, and ``dead``,
    ``forced`` and ``never_active`` are left empty.
    """

    contradiction: tuple[Constraint, ...] = ()
    dead: tuple[tuple[str, Setting], ...] = ()
    forced: tuple[tuple[str, Setting], ...] = ()
    never_active: tuple[str, ...] = ()
    violated: tuple[Constraint, ...] = ()
    undecided: str = ""

    @property
    def sound(self) -> bool:
        """Whether nothing was found and everything decided."""
        return self == Diagnosis()


def check(space: Space) -> Diagnosis:
    """Check a space for errors.

    It uses decision diagrams, and a solver for constraints that are too entangled for them. Both are bounded by
    steps, not by a clock: the same space gives the same answer everywhere.

    Raises:
        FormulaError: for a comparison over too many combinations of settings.
        NotInstalledError: where a solver is needed and not installed.
    """
    default = space.default
    violated = tuple(constraint for constraint in space.constraints if not holds(constraint, default))
    try:
        conflict = contradiction(space)
        if conflict:
            return Diagnosis(contradiction=conflict, violated=violated)
        return _judged(space, occurring(space), violated)
    except TooEntangledError:
        return check_by_solver(space, violated)


def check_by_solver(space: Space, violated: tuple[Constraint, ...]) -> Diagnosis:
    """The same by a constraint solver, of a space whose default breaks the constraints ``violated``."""
    solver = Solver(space)
    everything = set(range(len(space.constraints)))
    try:
        if solver.solve(everything) is None:
            numbers, note = _minimal(solver, everything)
            conflict = tuple(space.constraints[number] for number in sorted(numbers))
            return Diagnosis(contradiction=conflict, violated=violated, undecided=note)
        alive = _alive(space, solver, everything)
    except UndecidedError:
        return Diagnosis(violated=violated, undecided="whether every setting can occur")
    return _judged(space, alive, violated)


def _minimal(solver: Solver, everything: set[int]) -> tuple[set[int], str]:
    """Of contradicting constraints, a set of which none can be spared: one by one is left out and missed."""
    kept = solver.core() or everything
    note = ""
    for number in sorted(kept, reverse=True):
        try:
            if solver.solve(kept - {number}) is None:
                kept = kept - {number}
        except UndecidedError:
            note = "whether fewer constraints contradict each other"
    return kept, note


def _alive(space: Space, solver: Solver, everything: set[int]) -> set[tuple[str, int]]:
    """The settings that occur: the solver is asked for configurations until none has a new setting."""
    unseen = {(option.name, code) for option in space.options for code in range(len(option.settings))}
    alive: set[tuple[str, int]] = set()
    for _ in range(len(unseen)):  # every configuration shows one more, so that this is enough
        if not unseen:
            break
        solver.demand_one_of(sorted(unseen))
        configuration = solver.solve(everything)
        if configuration is None:
            break
        found = {
            (option.name, option.settings.index(configuration[option.name]))
            for option in space.options
            if option.name in configuration
        }
        alive |= found
        unseen -= found
    return alive


def _judged(space: Space, alive: set[tuple[str, int]], violated: tuple[Constraint, ...]) -> Diagnosis:
    dead: list[tuple[str, Setting]] = []
    forced: list[tuple[str, Setting]] = []
    never: list[str] = []
    for option in space.options:
        occurring = [setting for code, setting in enumerate(option.settings) if (option.name, code) in alive]
        if not occurring:
            never.append(option.name)
            continue
        dead += [(option.name, setting) for setting in option.settings if setting not in occurring]
        if len(occurring) == 1 < len(option.settings):
            forced.append((option.name, occurring[0]))
    return Diagnosis(dead=tuple(dead), forced=tuple(forced), never_active=tuple(never), violated=violated)
