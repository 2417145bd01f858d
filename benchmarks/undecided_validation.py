"""A validation that leaves one effect of a screening undecided, by runs with noise of an exact size.

Of ten options three have large effects, and the fourth has the effect in question; the screening called all four
important. Its runs, and those of the first validation, estimate that effect exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from hati.campaign import campaign
from hati.core import Benchmark, Budget, FloatArray, Metric, Reader, ReaderKind, StudyId, Task
from hati.design import Levels, from_levels, levels
from hati.space import Option, Space
from hati.studies.screening import EffectScale, choose_optimal
from hati.studies.validation import (
    Augmenting,
    Confirming,
    Mode,
    Screened,
    ScreenedSize,
    Validation,
    ValidationConclusion,
    ValidationOutcome,
    screened_runs,
)
from hati.testing import FakeEngine, MemoryStore

TIME = Metric("time", "s")
BENCHMARK = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
SPACE = Space(tuple(Option(name, (False, True), default=False) for name in "abcdefghij"))
CLAIMED = (("a",), ("b",), ("c",), ("d",))
LARGE = (3.0, 2.0, 1.0)
SCREENED = 48
RELEVANT = 0.01
SEED = 1

AnyValidation = Validation | Confirming | Augmenting
MAKERS: dict[Mode, Callable[..., AnyValidation]] = {
    Mode.DISCRIMINATE: Validation,
    Mode.CONFIRM: partial(Confirming, order=2),
    Mode.DEALIAS: partial(Augmenting, mode=Mode.DEALIAS, order=2),
    Mode.CHECK: partial(Augmenting, mode=Mode.CHECK, order=1),
}
FITTED = {Mode.DISCRIMINATE: 9, Mode.CONFIRM: 14, Mode.DEALIAS: 8, Mode.CHECK: 14}
"""The parameters of the fit that decides: two shifts, two trends, and its effects."""


@dataclass(frozen=True)
class UndecidedValidation:
    """A validation of ``runs`` runs, of an effect ``change`` with the ``deviation`` of a run, both on the logarithm."""

    mode: Mode
    change: float
    deviation: float
    runs: int

    @cached_property
    def needed(self) -> int | None:
        """The runs that would decide, by the validation's conclusion."""
        tasks = list[Task]()
        self._concluded(self.runs, np.zeros(self.runs), tasks)
        rows = levels([task.configuration for task in tasks], SPACE)
        return self._concluded(self.runs, self._exact(rows, np.arange(len(rows), dtype=np.float64)), []).runs_needed

    def decided(self, errors: FloatArray) -> bool:
        """Whether a new validation decides, with one run for each of the standardised errors."""
        return self._concluded(len(errors), self.deviation * errors, []).outcome is ValidationOutcome.DECIDED

    def _concluded(self, runs: int, noise: FloatArray, tasks: list[Task]) -> ValidationConclusion:
        """The conclusion of a whole campaign, whose tasks are appended to ``tasks`` in their order."""
        study = self._study(runs)

        def measured(task: Task) -> Mapping[str, Sequence[float]]:
            error = float(noise[len(tasks)])
            tasks.append(task)
            return {"time": [math.exp(float(self._logs(levels([task.configuration], SPACE))[0]) + error)]}

        return campaign(study, FakeEngine(measured), MemoryStore(), Budget(runs=runs))

    def _study(self, runs: int) -> AnyValidation:
        if runs not in self._studies:
            self._studies[runs] = MAKERS[self.mode](
                StudyId.of("validation", {"budget": runs}, SEED, "simulated"),
                "simulated",
                BENCHMARK,
                TIME,
                "1",
                SPACE,
                self._screened,
                budget=runs,
            )
        return self._studies[runs]

    @cached_property
    def _studies(self) -> dict[int, AnyValidation]:
        """The studies by their budgets: the runs of each are chosen once."""
        return {}

    @cached_property
    def _screened(self) -> Screened:
        rows = _screened_levels()
        order = np.random.default_rng(SEED).permutation(len(rows)).astype(np.float64)
        values = np.exp(self._logs(rows) + self._exact(rows, order))
        margin = 4.0 * self.deviation / math.sqrt(len(rows))
        return Screened(
            study="screening-1",
            runs=screened_runs(
                from_levels(rows, SPACE),
                values,
                np.zeros(len(rows), dtype=np.intp),
                SPACE,
                EffectScale.LOG,
                order=order,
            ),
            scale=EffectScale.LOG,
            important=CLAIMED,
            aliases=tuple(() for _ in CLAIMED),
            relevant=math.log1p(RELEVANT),
            typical=1.0,
            predicting=CLAIMED,
            sizes=tuple(ScreenedSize(size, margin) for size in (*LARGE, self.change)),
        )

    def _logs(self, rows: Levels) -> FloatArray:
        return np.asarray(_signs(rows)[:, : len(CLAIMED)] @ np.array([*LARGE, self.change]) / 2.0)

    def _exact(self, rows: Levels, order: FloatArray) -> FloatArray:
        """Noise without any effect or drift; screening and validation each lose half of the fit's parameters."""
        columns = np.column_stack([np.ones(len(rows)), order, _signs(rows)])
        noise = np.random.default_rng(SEED).standard_normal(len(rows))
        noise -= columns @ np.linalg.lstsq(columns, noise, rcond=None)[0]
        df = len(rows) - FITTED[self.mode] / 2.0
        return np.asarray(noise * self.deviation * math.sqrt(df / float(noise @ noise)))


def _signs(rows: Levels) -> FloatArray:
    return 2.0 * np.asarray(rows, dtype=np.float64) - 1.0


@cache
def _screened_levels() -> Levels:
    return choose_optimal(SPACE, SCREENED, np.random.default_rng(SEED)).levels
