"""Effects at each setting of another option, and the option that explains most of the variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import Configuration, FloatArray, Setting
from hati.stats import f_quantile, t_quantile
from hati.studies.screening.conclusion import Effect, Scale, ScreeningConclusion
from hati.studies.screening.option_summary import OptionSummary

MOST = 0.9
"""An option that explains this part of the variance, alone and with others, hides the rest."""

_CHANGED = 0.5
"""An interaction is excluded where no effect can differ by this part of itself between the settings."""
_CONFIDENCE = 0.95
_TINY = 1e-9


@dataclass(frozen=True)
class ConditionalEffect:
    """The effect of an option at one setting of another.

    ``relative`` is the change from ``before`` to ``after`` (the first setting to the second; of more settings the one
    with the lowest mean there to the one with the highest), a fraction on the deciding scale as in `Effect`;
    ``interval`` is that of 95 %, where settings are chosen that of all their differences at once (Scheffe 1953), None
    where nothing tells the noise. ``found`` says that the interaction was found; else it could not be excluded that the
    effect depends on the other option.
    """

    option: str
    before: Setting
    after: Setting
    given: str
    setting: Setting
    relative: float
    interval: tuple[float, float] | None
    found: bool


@dataclass(frozen=True)
class DominatingOption:
    """An option with a ``share`` of the variance of at least ``MOST``; ``fixed`` are the settings of today's template.

    ``default`` is the setting that it has by default.
    """

    name: str
    share: float
    default: Setting
    fixed: tuple[tuple[str, Setting], ...]


def dominating_option(conclusion: ScreeningConclusion) -> DominatingOption | None:
    """The important option that explains most of the variance, its interactions included; None where none does.

    What it explains alone counts: where columns are correlated, what the others leave of it is less.
    """
    names = _important(conclusion)
    model = _Model.of(conclusion, names) if names else None
    shares = {name: model.explained(conclusion, name) for name in names if model and _main(conclusion, name)}
    name = max(shares, key=lambda name: shares[name], default=None)
    if name is None or shares[name] < MOST or len(conclusion.options) < 2:
        return None
    known = {option.name for option in conclusion.options}
    always = dict(conclusion.points[0].configuration)
    fixed = tuple((other, setting) for other, setting in always.items() if other not in known)
    default = next(option.default for option in conclusion.options if option.name == name)
    return None if default is None else DominatingOption(name, min(1.0, shares[name]), default, fixed)


def conditional_effects(conclusion: ScreeningConclusion) -> tuple[ConditionalEffect, ...]:
    """The effects of important options at each setting of one that they may depend on, the default's setting first.

    From least squares of the configurations' means on the important options, the important interactions and the one
    that is asked about. For each option the found interaction with the largest effect counts, else the one with the
    most important option that is not excluded: where the 95 % interval of the change of the effect between two settings
    reaches half of the effect itself, and the relevant size. What the runs cannot estimate is left out.
    """
    names = _important(conclusion)
    if len(names) < 2:
        return ()
    model = _Model.of(conclusion, names)
    found: list[ConditionalEffect] = []
    for name in names:
        for given in _partners(conclusion, name, names):
            effects = model.conditional(name, given, found=_interaction(conclusion, name, given) is not None)
            if effects:
                found += effects
                break
    return tuple(found)


def _important(conclusion: ScreeningConclusion) -> list[str]:
    named = {name for effect in conclusion.effects if effect.shown for name in effect.options}
    return [name for name in conclusion.ranking if name in named]


def _main(conclusion: ScreeningConclusion, name: str) -> Effect | None:
    return next((effect for effect in conclusion.effects if effect.shown and effect.options == (name,)), None)


def _interaction(conclusion: ScreeningConclusion, name: str, given: str) -> Effect | None:
    wanted = {name, given}
    return next((e for e in conclusion.effects if e.shown and set(e.options) == wanted), None)


def _partners(conclusion: ScreeningConclusion, name: str, names: Sequence[str]) -> list[str]:
    """Found interactions first, the largest before; then the other important options by their main effects."""
    found = {other: each for other in names if other != name and (each := _interaction(conclusion, name, other))}
    mains = {other: each for other in names if other not in {*found, name} and (each := _main(conclusion, other))}
    return [
        *sorted(found, key=lambda other: -abs(found[other].contrast)),
        *sorted(mains, key=lambda other: -abs(mains[other].contrast)),
    ]


@dataclass(frozen=True, eq=False)
class _Model:
    """The configurations' means on the deciding scale, and the columns of the effects that are known."""

    options: dict[str, OptionSummary]
    places: dict[str, FloatArray]
    values: FloatArray
    known: FloatArray
    log: bool
    typical: float
    relevant: float

    @classmethod
    def of(cls, conclusion: ScreeningConclusion, names: Sequence[str]) -> _Model:
        means: dict[Configuration, list[float]] = {}
        log = conclusion.scale is Scale.LOG
        for point in conclusion.points:
            means.setdefault(point.configuration, []).append(float(np.log(point.value)) if log else point.value)
        options = {option.name: option for option in conclusion.options if option.name in names}
        places = {
            name: np.array([_place(option, configuration) for configuration in means], dtype=np.float64)
            for name, option in options.items()
        }
        typical = float(np.mean([abs(point.value) for point in conclusion.points]))
        made = cls(options, places, np.array([np.mean(each) for each in means.values()]), np.empty(0), log, typical, 0)
        pairs = [e.options for e in conclusion.effects if e.shown and len(e.options) == 2]
        known = [np.ones((len(made.values), 1)), *(made.main(name) for name in names)]
        known += [made.interaction(*pair) for pair in pairs]
        relevant = float(np.log1p(conclusion.relevant)) if log else conclusion.relevant * typical
        return cls(options, places, made.values, np.hstack(known), log, typical, relevant)

    def coded(self, name: str, place: FloatArray) -> FloatArray:
        """Columns that sum to zero over the settings, shape (rows, settings - 1); zeros where inactive."""
        last = len(self.options[name].settings) - 1
        columns = (place[:, None] == np.arange(last)[None, :]).astype(np.float64)
        return np.asarray(columns - (place == last)[:, None])

    def main(self, name: str) -> FloatArray:
        return self.coded(name, self.places[name])

    def interaction(self, one: str, other: str) -> FloatArray:
        return _products(self.main(one), self.main(other))

    def explained(self, conclusion: ScreeningConclusion, name: str) -> float:
        """The share of the variance between configurations that one option and its found interactions explain.

        The adjusted coefficient of determination: many columns explain much by chance.
        """
        pairs = [e.options for e in conclusion.effects if e.shown and len(e.options) == 2 and name in e.options]
        columns = np.hstack([np.ones((len(self.values), 1)), self.main(name), *(self.interaction(*p) for p in pairs)])
        residuals = self.values - columns @ np.linalg.lstsq(columns, self.values, rcond=None)[0]
        total = float(np.sum((self.values - self.values.mean()) ** 2))
        left = len(self.values) - int(np.linalg.matrix_rank(columns))
        if total <= 0.0 or left < 1:
            return 0.0
        return 1.0 - float(residuals @ residuals) / left / (total / (len(self.values) - 1))

    def conditional(self, name: str, given: str, *, found: bool) -> list[ConditionalEffect]:
        """The effects at each setting of the other option; none where the interaction is excluded or not estimable."""
        main, product = self.main(name), self.interaction(name, given)
        others = self._without(np.hstack([main, product]))
        columns = np.hstack([others, main, product])
        width = main.shape[1] + product.shape[1]
        rank = np.linalg.matrix_rank(columns)
        if rank < np.linalg.matrix_rank(others) + width:
            return []
        inverse = np.linalg.pinv(columns.T @ columns)
        fitted = inverse @ columns.T @ self.values
        df = len(self.values) - int(rank)
        variance = float(np.sum((self.values - columns @ fitted) ** 2)) / df if df > 0 else None
        option, other = self.options[name], self.options[given]
        ends = range(len(option.settings))
        profiles = np.stack(
            [self._profile(name, given, np.array([i]), np.array([j])) for j in range(len(other.settings)) for i in ends]
        ).reshape(len(other.settings), len(option.settings), width)
        means = profiles @ fitted[-width:]
        estimates = []
        for j in _default_first(other):
            low, high = (0, 1) if option.two_level else (int(np.argmin(means[j])), int(np.argmax(means[j])))
            estimates.append((j, low, high, profiles[j, high] - profiles[j, low]))
        covariance: FloatArray = np.asarray(inverse[-width:, -width:], dtype=np.float64)
        if not found and self._excluded([each[3] for each in estimates], fitted[-width:], covariance, variance, df):
            return []
        return [
            ConditionalEffect(
                option=name,
                before=option.settings[low],
                after=option.settings[high],
                given=given,
                setting=other.settings[j],
                relative=self._relative(float(contrast @ fitted[-width:])),
                interval=self._interval(contrast, fitted[-width:], covariance, variance, df, len(option.settings)),
                found=found,
            )
            for j, low, high, contrast in estimates
        ]

    def _without(self, own: FloatArray) -> FloatArray:
        """The known columns that are none of these."""
        equal = np.abs(self.known.T[:, None, :] - own.T[None, :, :]).max(axis=2) < _TINY
        return np.asarray(self.known[:, ~equal.any(axis=1)])

    def _profile(self, name: str, given: str, place: FloatArray, other: FloatArray) -> FloatArray:
        main = self.coded(name, place)
        return np.asarray(np.hstack([main, _products(main, self.coded(given, other))])[0])

    def _excluded(
        self,
        contrasts: Sequence[FloatArray],
        fitted: FloatArray,
        covariance: FloatArray,
        variance: float | None,
        df: int,
    ) -> bool:
        """Whether no effect changes by half of the mean effect, and by what is relevant, from the first setting."""
        if variance is None:
            return False
        size = abs(float(np.mean([contrast @ fitted for contrast in contrasts])))
        allowed = max(_CHANGED * size, self.relevant)
        for contrast in contrasts[1:]:
            change = contrast - contrasts[0]
            half = t_quantile(0.5 + _CONFIDENCE / 2, df) * float(np.sqrt(variance * (change @ covariance @ change)))
            if abs(float(change @ fitted)) + half >= allowed:
                return False
        return True

    def _interval(
        self,
        contrast: FloatArray,
        fitted: FloatArray,
        covariance: FloatArray,
        variance: float | None,
        df: int,
        settings: int,
    ) -> tuple[float, float] | None:
        """Of all differences of so many settings at once, for the lowest and the highest mean are chosen (Scheffe)."""
        if variance is None:
            return None
        middle = float(contrast @ fitted)
        factor = np.sqrt((settings - 1) * f_quantile(_CONFIDENCE, settings - 1, df))
        half = float(factor * np.sqrt(variance * (contrast @ covariance @ contrast)))
        return self._relative(middle - half), self._relative(middle + half)

    def _relative(self, contrast: float) -> float:
        return float(np.expm1(contrast)) if self.log else contrast / (self.typical or 1.0)


def _place(option: OptionSummary, configuration: Configuration) -> int:
    """The index of the option's setting, -1 where it is inactive."""
    return option.settings.index(configuration[option.name]) if option.name in configuration else -1


def _products(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray((one[:, :, None] * other[:, None, :]).reshape(len(one), -1))


def _default_first(option: OptionSummary) -> list[int]:
    first = 0 if option.default is None else option.settings.index(option.default)
    return [first, *(place for place in range(len(option.settings)) if place != first)]
