"""Solvers of constraints: decision diagrams, which count and number configurations exactly, and OR-Tools' CP-SAT.

Diagrams order the options that constraints tie together so that they stay small. The solver decides whether there is
a configuration, and which parts of a space it can have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hati.core import Configuration, InputError, NotInstalledError, Setting
from hati.space.constraint import Constraint
from hati.space.evaluation import ChoiceAlgebra, Option, activity, interpret
from hati.space.space import Space

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


_ROUNDS = 30


def blocks(names: Sequence[str], ties: Sequence[Sequence[str]]) -> list[list[str]]:
    """Partition the names so that no tie crosses two parts; parts and names keep their order."""
    leader = {name: name for name in names}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for tie in ties:
        for name in tie[1:]:
            leader[find(name)] = find(tie[0])
    parts: dict[str, list[str]] = {}
    for name in names:
        parts.setdefault(find(name), []).append(name)
    return list(parts.values())


def compact(names: Sequence[str], ties: Sequence[Sequence[str]]) -> list[str]:
    """An order of the names in which the members of each tie are close together.

    The given order unless FORCE finds one of smaller total span: Aloul, Markov and Sakallah, "FORCE: a
    fast and easy-to-implement variable-ordering heuristic", GLSVLSI 2003. Every tie pulls its names to
    its centre of gravity, round after round.
    """
    best = list(names)
    smallest = _span(best, ties)
    order = best
    for _ in range(_ROUNDS):
        order = _pulled(order, ties)
        span = _span(order, ties)
        if span >= smallest:
            break
        best, smallest = order, span
    return best


def _positions(order: Sequence[str]) -> Mapping[str, int]:
    return {name: position for position, name in enumerate(order)}


def _span(order: Sequence[str], ties: Sequence[Sequence[str]]) -> int:
    at = _positions(order)
    return sum(max(at[name] for name in tie) - min(at[name] for name in tie) for tie in ties if tie)


def _pulled(order: Sequence[str], ties: Sequence[Sequence[str]]) -> list[str]:
    at = _positions(order)
    pulls: dict[str, list[float]] = {name: [] for name in order}
    for tie in ties:
        for name in tie:
            pulls[name].append(sum(at[other] for other in tie) / len(tie))
    goal = {name: sum(pull) / len(pull) if pull else at[name] for name, pull in pulls.items()}
    return sorted(order, key=lambda name: (goal[name], at[name]))


_MOST_NODES = 400_000
_MOST_BITS = 500  # the diagram's operations recurse once a bit


class TooEntangledError(InputError):
    """Constraints tie too many options together too closely for a decision diagram."""


class DiagramNode(Struct, frozen=True, dict=True):
    """A decision: for every code of an option, the next node and its number of configurations.

    A code is the index of a setting, or the number of settings where the option is inactive.
    """

    cases: tuple[int, ...]
    counts: tuple[int, ...]

    @cached_property
    def count(self) -> int:
        """The number of configurations from here on."""
        return sum(self.counts)


class Diagram(Struct, frozen=True):
    """The valid configurations of some options, which depend on no others.

    ``levels`` holds, for each option in order, the nodes by their key; ``root`` is a key of the first.
    """

    options: tuple[Option, ...]
    levels: tuple[Mapping[int, DiagramNode], ...]
    root: int

    @property
    def count(self) -> int:
        """The number of valid configurations."""
        return self.levels[0][self.root].count

    def configuration(self, number: int) -> dict[str, Setting]:
        """The configuration with that number, from 0 to ``count`` - 1; all are different."""
        settings: dict[str, Setting] = {}
        key = self.root
        for option, level in zip(self.options, self.levels, strict=True):
            node = level[key]
            code = 0
            while number >= node.counts[code]:
                number -= node.counts[code]
                code += 1
            if code < len(option.settings):
                settings[option.name] = option.settings[code]
            key = node.cases[code]
        return settings

    @property
    def occurring(self) -> set[tuple[str, int]]:
        """The settings that valid configurations have, as options and positions."""
        return {
            (option.name, code)
            for option, level in zip(self.options, self.levels, strict=True)
            for node in level.values()
            for code, count in enumerate(node.counts[: len(option.settings)])
            if count
        }

    def cheapest(self, cost: Callable[[Option, Setting], int]) -> dict[str, Setting]:
        """The valid configuration with the least total cost; of several, the one whose settings come first.

        There must be at least one; an inactive option costs nothing.
        """
        below: dict[int, tuple[int, dict[str, Setting]]] = {}
        for option, level in zip(reversed(self.options), reversed(self.levels), strict=True):
            codes = [*((cost(option, setting), {option.name: setting}) for setting in option.settings), (0, {})]
            found: dict[int, tuple[int, dict[str, Setting]]] = {}
            for key, node in level.items():
                paths = [
                    (own + below.get(case, _FREE)[0], code)
                    for code, (case, count, (own, _)) in enumerate(zip(node.cases, node.counts, codes, strict=False))
                    if count
                ]
                if paths:
                    least, code = min(paths)
                    found[key] = (least, {**codes[code][1], **below.get(node.cases[code], _FREE)[1]})
            below = found
        return below[self.root][1]


_FREE: tuple[int, dict[str, Setting]] = (0, {})
"""Below the last option: no settings and no cost."""


def build(options: Sequence[Option], constraints: Sequence[Constraint]) -> Diagram:
    """The diagram of options in that order under constraints that mention no others.

    Raises:
        TooEntangledError: where the diagram would have too many nodes.
    """
    algebra = _Decisions(options)
    with _bounded(options):
        truth = algebra.conjunction([algebra.rules, *(algebra.read(constraint) for constraint in constraints)])
    return Diagram(tuple(options), *algebra.levels(truth))


def contradicting(options: Sequence[Option], constraints: Sequence[Constraint]) -> tuple[int, ...]:
    """The numbers of a minimal set of contradicting constraints; empty where all can hold.

    Each pass finds the first constraint, in order, that contradicts the ones before it. It belongs to the set, and
    those after it do not: the constructive search for a minimal unsatisfiable set.

    Raises:
        TooEntangledError: where a diagram would have too many nodes.
    """
    algebra = _Decisions(options)
    never = algebra.constant(truth=False)
    with _bounded(options):
        parts = [algebra.read(constraint) for constraint in constraints]
        kept: list[int] = []
        total, candidates = algebra.rules, range(len(parts))
        while total != never:
            known = total
            for number in candidates:
                known = algebra.conjunction([known, parts[number]])
                if known == never:
                    kept.append(number)
                    total = algebra.conjunction([total, parts[number]])
                    candidates = range(number)
                    break
            else:
                return ()
    return tuple(sorted(kept))


@contextmanager
def _bounded(options: Sequence[Option]) -> Iterator[None]:
    """Report a diagram with too many nodes."""
    try:
        yield
    except RuntimeError as error:  # which dd raises when `max_nodes` is reached
        if "max_nodes" not in str(error):
            raise
        raise TooEntangledError(
            f"the constraints tie {len(options)} options together too closely to count: "
            f"their decision diagram has more than {_MOST_NODES:,} nodes",
            fix="simplify the constraints, or drop some options",
        ) from None


def _manager() -> Any:  # dd's own types say too little
    # Imported here: it takes half a second, and most spaces are read without being counted.
    from dd.bdd import BDD

    class Manager(BDD):
        """dd's manager without its last check, which fails once the limit of nodes was reached."""

        def __del__(self) -> None: ...

    manager: Any = Manager
    return manager()


class _Decisions(ChoiceAlgebra[int]):
    """Formulas as binary decision diagrams: a code's bits are variables, the highest first.

    Codes beyond the last are never used, so their values in the diagram do not matter.
    """

    def __init__(self, options: Sequence[Option]) -> None:
        self._options = {option.name: option for option in options}
        self._bits: dict[str, list[str]] = {}
        self._bdd = _manager()
        for option in options:
            width = (self._codes(option) - 1).bit_length()
            self._bits[option.name] = [f"{option.name} {bit}" for bit in range(width)]
            self._bdd.declare(*self._bits[option.name])
        if len(self._bdd.vars) > _MOST_BITS:
            raise TooEntangledError(
                f"the constraints tie {len(options)} options together, too many to count", fix="drop some options"
            )
        self._bdd.max_nodes = _MOST_NODES

    @cached_property
    def rules(self) -> int:
        """The rule that options are active exactly where their conditions hold."""
        nested = [(option, option.active_if) for option in self._options.values() if option.active_if is not None]
        return self.conjunction(
            [self.equivalence(activity(option, self), self.read(condition)) for option, condition in nested]
        )

    def read(self, formula: Constraint) -> int:
        """A formula's diagram."""
        return interpret(formula, self._options, self)

    def constant(self, *, truth: bool) -> int:
        return int(self._bdd.true if truth else self._bdd.false)

    def negation(self, part: int) -> int:
        return -part  # dd's complemented edges

    def conjunction(self, parts: Iterable[int]) -> int:
        total = self.constant(truth=True)
        for part in parts:
            total = self._bdd.ite(total, part, self._bdd.false)
        return total

    def choice(self, option: str, cases: Sequence[int]) -> int:
        nodes = list(cases)
        if self._options[option].active_if is not None:
            nodes.append(self.constant(truth=False))
        for bit in reversed(self._bits[option]):
            if len(nodes) % 2:
                nodes.append(nodes[-1])
            variable = self._bdd.var(bit)
            nodes = [self._bdd.ite(variable, one, zero) for zero, one in zip(nodes[::2], nodes[1::2], strict=True)]
        return nodes[0]

    def levels(self, truth: int) -> tuple[tuple[Mapping[int, DiagramNode], ...], int]:
        """The levels, one for each option, and the root: nodes are found from the first level down, counted upwards."""
        reached: list[dict[int, tuple[int, ...]]] = []
        keys = {truth}
        for option in self._options.values():
            found = {
                key: tuple(self._cofactor(key, option, code) for code in range(self._codes(option))) for key in keys
            }
            reached.append(found)
            keys = {case for cases in found.values() for case in cases}
        below = {self.constant(truth=True): 1, self.constant(truth=False): 0}
        levels: list[Mapping[int, DiagramNode]] = []
        for found in reversed(reached):
            level = {key: DiagramNode(cases, tuple(below[case] for case in cases)) for key, cases in found.items()}
            below = {key: node.count for key, node in level.items()}
            levels.append(level)
        return tuple(reversed(levels)), truth

    def _codes(self, option: Option) -> int:
        return len(option.settings) + (option.active_if is not None)

    def _cofactor(self, node: int, option: Option, code: int) -> int:
        bits = self._bits[option.name]
        for position, bit in enumerate(bits):
            level, low, high = self._bdd.succ(node)
            if level != self._bdd.level_of_var(bit):
                continue
            chosen = high if code >> (len(bits) - 1 - position) & 1 else low
            node = chosen if node > 0 else -chosen
        return node


_EFFORT = 60.0  # in all, in CP-SAT's deterministic time (about a second each): the same answer everywhere


class UndecidedError(Exception):
    """The solver reached its bound of steps before it had an answer."""


class Solver:
    """A solver for a space's constraints, each of which can be demanded or not; its total steps are bounded.

    Raises:
        NotInstalledError: without the extra ``solver``.
    """

    def __init__(self, space: Space) -> None:
        # Imported here: it takes more than a second, and few spaces need it.
        try:
            from ortools.sat.python import cp_model
        except ImportError as error:
            raise NotInstalledError(
                f"the constraints tie the {len(space.options)} options together too closely without OR-Tools",
                fix="install it: pip install 'hati[solver]'",
            ) from error

        self._space = space
        self._model = cp_model.CpModel()
        self._solver = cp_model.CpSolver()
        self._solver.parameters.num_workers = 1
        self._solver.parameters.random_seed = 0
        self._left = _EFFORT
        self._codes = {option.name: self._declare(option) for option in space.options}
        algebra = _Literals(self._model, space.by_name, self._codes)
        for option in space.options:
            if option.active_if is not None:
                condition = interpret(option.active_if, space.by_name, algebra)
                self._model.add_bool_or(algebra.equivalence(activity(option, algebra), condition))
        self._guards = [self._model.new_bool_var(f"constraint {index}") for index in range(len(space.constraints))]
        for guard, constraint in zip(self._guards, space.constraints, strict=True):
            self._model.add_implication(guard, interpret(constraint, space.by_name, algebra))

    def solve(self, demanded: Collection[int]) -> Configuration | None:
        """A configuration in which the constraints of those numbers hold, or None where there is none.

        Raises:
            UndecidedError: at the bound of steps.
        """
        self._model.clear_assumptions()
        self._model.add_assumptions([self._guards[index] for index in sorted(demanded)])
        return self._solved()

    def nearest(self, distance: Callable[[Option, Setting], int]) -> Configuration | None:
        """The configuration in which all constraints hold and the fewest settings have a distance above 0, or None.

        Ties are broken by the smallest sum of distances; at the bound of steps it is the best one found.

        Raises:
            UndecidedError: where none is found at the bound of steps.
        """
        costs = [
            (code, distance(option, setting))
            for option in self._space.options
            for setting, code in zip(option.settings, self._codes[option.name], strict=False)
        ]
        most = 1 + sum(cost for _, cost in costs)
        self._model.add_bool_and(self._guards)
        self._model.minimize(sum((most + cost) * code for code, cost in costs if cost))
        return self._solved()

    def _solved(self) -> Configuration | None:
        from ortools.sat.python import cp_model  # late: see above

        self._solver.parameters.max_deterministic_time = self._left
        status = self._solver.solve(self._model)
        self._left = max(0.0, self._left - self._solver.response_proto.deterministic_time)
        if status == cp_model.INFEASIBLE:
            return None
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            raise UndecidedError
        return self._space.complete(
            {option.name: setting for option in self._space.options for setting in self._chosen(option)}
        )

    def core(self) -> set[int]:
        """Contradicting constraints, after ``solve`` found that the demanded ones contradict; not always minimal."""
        indices = {guard.index: number for number, guard in enumerate(self._guards)}
        return {indices[index] for index in self._solver.sufficient_assumptions_for_infeasibility()}

    def demand_one_of(self, settings: Collection[tuple[str, int]]) -> None:
        """From now on, find only configurations with at least one of these settings (option, index)."""
        self._model.add_bool_or([self._codes[name][index] for name, index in settings])

    def _declare(self, option: Option) -> list[cp_model.IntVar]:
        codes = len(option.settings) + (option.active_if is not None)
        variables = [self._model.new_bool_var(f"{option.name} {code}") for code in range(codes)]
        self._model.add_exactly_one(variables)
        return variables

    def _chosen(self, option: Option) -> list[Setting]:
        codes = self._codes[option.name]
        return [
            setting for setting, code in zip(option.settings, codes, strict=False) if self._solver.boolean_value(code)
        ]


class _Literals(ChoiceAlgebra["cp_model.BoolVarT"]):
    """Formulas as literals of a CP-SAT model: every node is a new variable, equal to the formula that it represents."""

    def __init__(
        self, model: cp_model.CpModel, options: Mapping[str, Option], codes: Mapping[str, Sequence[cp_model.IntVar]]
    ) -> None:
        self._model = model
        self._options = options
        self._codes = codes
        self._true = model.new_bool_var("true")
        model.add_bool_or(self._true)

    def constant(self, *, truth: bool) -> cp_model.BoolVarT:
        return self._true if truth else self._true.negated()

    def negation(self, part: cp_model.BoolVarT) -> cp_model.BoolVarT:
        return part.negated()

    def conjunction(self, parts: Iterable[cp_model.BoolVarT]) -> cp_model.BoolVarT:
        parts = list(parts)
        if len(parts) == 1:
            return parts[0]
        whole = self._model.new_bool_var("all")
        self._model.add_bool_and(*parts).only_enforce_if(whole)
        self._model.add_bool_or(whole, *(part.negated() for part in parts))
        return whole

    def choice(self, option: str, cases: Sequence[cp_model.BoolVarT]) -> cp_model.BoolVarT:
        chosen = self._model.new_bool_var(f"{option} chooses")
        for code, case in zip(self._codes[option], cases, strict=False):
            self._model.add_bool_or(code.negated(), chosen.negated(), case)
            self._model.add_bool_or(code.negated(), chosen, case.negated())
        if self._options[option].active_if is not None:
            self._model.add_implication(self._codes[option][-1], chosen.negated())
        return chosen
