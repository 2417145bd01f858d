"""Constraints in OR-Tools' CP-SAT: whether there is a configuration, and which parts of a space it can have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from hati.core import Configuration, NotInstalledError, Setting
from hati.space.evaluation import ChoiceAlgebra, activity, interpret
from hati.space.option import Option
from hati.space.space import Space

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

_EFFORT = 60.0  # in all, in CP-SAT's deterministic time (about a second each): the same answer everywhere


class UndecidedError(Exception):
    """The solver reached its bound of steps before it knew."""


class Solver:
    """A space's constraints, each of which can be demanded or not; all solving together is bounded by steps.

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
        """The configuration in which all constraints hold and the fewest settings are at a distance, or None.

        Of those the one with the smallest sum of distances; at the bound of steps the best that is known.

        Raises:
            UndecidedError: where none is known at the bound of steps.
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
        """Constraints that contradict each other, once ``solve`` has found that those demanded do; maybe too many."""
        indices = {guard.index: number for number, guard in enumerate(self._guards)}
        return {indices[index] for index in self._solver.sufficient_assumptions_for_infeasibility()}

    def demand_one_of(self, settings: Collection[tuple[str, int]]) -> None:
        """From now on, look only for configurations with one of these settings (option, index) at least."""
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
    """Formulas as literals of a CP-SAT model: every node is a new variable, equal to what it stands for."""

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
