"""Screening conclusions made by hand: a whole one of 14 SQLite options, one without noise, one with hostile names."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import stats

from hati.core import Assignment, Better, Configuration, Metric, Setting, generator, replace
from hati.studies.screening import (
    ConditionalEffect,
    DesignSummary,
    DetectableEffect,
    Dispersion,
    Effect,
    EffectScale,
    ModelSummary,
    Noise,
    OptionSummary,
    Point,
    ScreeningConclusion,
)

LETTERS = "ABCDEFGHIJKLMN"
GENERATORS = ("F=ABC", "G=ABD", "H=ACD", "I=BCD", "J=ABE", "K=ACE", "L=BCE", "M=ADE", "N=BDE")
REPETITIONS = 3

OPTIONS: tuple[tuple[str, Setting, Setting, str], ...] = (
    ("page_size", 4096, 1024, "bytes of a database page"),
    ("journal_mode", "DELETE", "WAL", "how a transaction is made atomic"),
    ("synchronous", "FULL", "OFF", "how often data are forced to the disk"),
    ("cache_size", -2000, -64000, "size of the page cache"),
    ("temp_store", "FILE", "MEMORY", "where temporary tables are kept"),
    ("mmap_size", 0, 268435456, "bytes of the database that are mapped into memory"),
    ("locking_mode", "NORMAL", "EXCLUSIVE", "whether the lock is kept between transactions"),
    ("auto_vacuum", "NONE", "FULL", "whether free pages are given back"),
    ("foreign_keys", 0, 1, "whether foreign keys are checked"),
    ("secure_delete", 0, 1, "whether deleted content is overwritten"),
    ("reverse_unordered_selects", 0, 1, ""),
    ("automatic_index", 1, 0, "whether indexes are made for a query"),
    ("cell_size_check", 0, 1, ""),
    ("recursive_triggers", 0, 1, ""),
)

TRUE_EFFECTS = {"C": -1.25, "B": -0.38, "BC": 0.22, "G": -0.12, "H": 0.045, "J": 0.012}
"""Effects on the natural logarithm of the latency."""

At = tuple[str, str, Setting, float, tuple[float, float]]
"""An option, another one, a setting of it, the effect there in per cent, and its interval."""

LATENCY_AT: tuple[At, ...] = (
    ("synchronous", "journal_mode", "DELETE", -77.0, (-77.3, -76.7)),
    ("synchronous", "journal_mode", "WAL", -64.1, (-64.6, -63.6)),
    ("journal_mode", "synchronous", "FULL", -45.4, (-46.1, -44.6)),
    ("journal_mode", "synchronous", "OFF", -14.8, (-15.9, -13.6)),
    ("locking_mode", "auto_vacuum", "NONE", -29.2, (-30.2, -28.3)),
    ("locking_mode", "auto_vacuum", "FULL", 10.4, (8.9, 11.9)),
    ("auto_vacuum", "synchronous", "FULL", 4.9, (3.5, 6.3)),
    ("auto_vacuum", "synchronous", "OFF", 4.2, (2.8, 5.6)),
)
THROUGHPUT_AT: tuple[At, ...] = (
    ("synchronous", "journal_mode", "DELETE", -90.4, (-91.9, -88.9)),
    ("synchronous", "journal_mode", "WAL", -88.2, (-91.5, -84.9)),
    ("journal_mode", "synchronous", "FULL", -53.1, (-54.6, -51.6)),
    ("journal_mode", "synchronous", "OFF", -42.5, (-57.4, -25.0)),
    ("locking_mode", "synchronous", "FULL", -9.0, (-10.1, -7.9)),
    ("locking_mode", "synchronous", "OFF", -25.8, (-34.9, -16.6)),
    ("auto_vacuum", "synchronous", "FULL", 1.1, (-1.0, 3.2)),
    ("auto_vacuum", "synchronous", "OFF", 12.5, (-9.0, 36.0)),
)


def columns() -> dict[str, np.ndarray]:
    """The design's columns by letter, and by all words of up to three letters."""
    base = np.array(list(itertools.product((-1, 1), repeat=5)))
    column = {letter: base[:, i] for i, letter in enumerate("ABCDE")}
    for text in GENERATORS:
        letter, word = text.split("=")
        column[letter] = np.prod([column[c] for c in word], axis=0)
    words = ("".join(w) for size in (1, 2, 3) for w in itertools.combinations(LETTERS, size))
    return {word: np.prod([column[c] for c in word], axis=0) for word in words}


def sqlite_screening() -> ScreeningConclusion:
    """32 configurations three times each, all done; latencies of about a millisecond, judged by pure error."""
    column = columns()
    random = generator(1, "example").standard_normal((REPETITIONS, 32))
    truth = math.log(0.0021) + sum(size / 2 * column[word] for word, size in TRUE_EFFECTS.items())
    values = np.exp(truth + 0.02 * random)
    options = tuple(
        OptionSummary(n, letter, (a, b), doc) for letter, (n, a, b, doc) in zip(LETTERS, OPTIONS, strict=True)
    )
    configurations = [
        Configuration({o.name: o.second if column[o.letter][row] > 0 else o.first for o in options})
        for row in range(32)
    ]
    orders = [generator(1, "order", str(r)).permutation(32) for r in range(REPETITIONS)]
    points = tuple(
        Point(32 * r + place, float(values[r, row]), configurations[row])
        for r in range(REPETITIONS)
        for place, row in enumerate(orders[r])
    )
    effects = estimated(values, column)
    return ScreeningConclusion(
        study="screening-0a1b2c3d-1",
        subject="sqlite",
        benchmark="orders",
        revision="3f2c1ab",
        metric=Metric("latency", "s", Better.LOWER),
        scale=EffectScale.LOG,
        scale_reason="all values are positive and Box-Cox prefers it (lambda = -0.02)",
        judged_by=Noise.PURE_ERROR,
        alpha=0.05,
        relevant=0.01,
        options=options,
        configurations=2**14,
        design=DesignSummary("regular fraction", 96, 32, REPETITIONS, 4, GENERATORS),
        effects=effects,
        ranking=ranked(effects),
        important=tuple(e.options[0] for e in effects if e.important and len(e.options) == 1),
        threshold=0.0142,
        detectable=DetectableEffect(0.0000413, 0.0187),
        missing=(),
        dispersion=dispersion_of(values, column),
        points=points,
        done=96,
        failed=0,
        failures=(),
        seconds=125.3,
        warnings=(
            "synchronous x journal_mode cannot be distinguished from 6 other pairs; "
            "`hati screen --budget 256` separates them",
        ),
        model=ModelSummary(tuple(e.options for e in effects if e.important), 0.99),
        conditional_effects=conditional(LATENCY_AT),
    )


def conditional(found: tuple[At, ...]) -> tuple[ConditionalEffect, ...]:
    """The effects of those options; only that of synchronous and journal_mode together was found."""
    settings = {name: (first, second) for name, first, second, _ in OPTIONS}
    return tuple(
        ConditionalEffect(
            name,
            *settings[name],
            Assignment({given: setting}),
            change / 100,
            (low / 100, high / 100),
            {name, given} == {"synchronous", "journal_mode"},
        )
        for name, given, setting, change, (low, high) in found
    )


def ranked(effects: tuple[Effect, ...]) -> tuple[str, ...]:
    """All options by the size of their main effect."""
    mains = [e.options[0] for e in effects if len(e.options) == 1]
    return (*mains, *(name for name, *_ in OPTIONS if name not in mains))


def alias_sets(column: dict[str, np.ndarray]) -> list[list[str]]:
    """Words up to third order that share a column up to its sign; the lowest order first, strongest options first."""
    sets: dict[bytes, list[str]] = {}
    for word, values in column.items():
        sets.setdefault((values * values[0]).astype(np.int8).tobytes(), []).append(word)
    favour = {"BC": -1}
    return [sorted(words, key=lambda w: (len(w), favour.get(w, 0), w)) for words in sets.values()]


def named(word: str) -> tuple[str, ...]:
    return tuple(OPTIONS[LETTERS.index(c)][0] for c in word)


def estimated(values: np.ndarray, column: dict[str, np.ndarray]) -> tuple[Effect, ...]:
    logs = np.log(values)
    error = math.sqrt(np.mean(np.var(logs, axis=0, ddof=1)) * 4 / logs.size)
    quantile = float(stats.t.ppf(0.975, 64))
    contrasts = []
    for words in alias_sets(column):
        x = column[words[0]]
        contrasts.append((float(np.mean(logs.mean(0)[x > 0]) - np.mean(logs.mean(0)[x < 0])), words))
    total = sum(c * c for c, _ in contrasts)
    contrasts.sort(key=lambda pair: abs(pair[0]))
    effects = []
    for i, (contrast, words) in enumerate(contrasts):
        x = column[words[0]]
        means = values.mean(0)
        estimate = float(means[x > 0].mean() - means[x < 0].mean())
        ci = quantile * error
        p = min(1.0, 31 * 2 * float(stats.t.sf(abs(contrast) / error, 64)))
        effects.append(
            Effect(
                options=named(words[0]),
                estimate=estimate,
                interval=(estimate - ci * 0.0026, estimate + ci * 0.0026),
                standard_error=error * 0.0026,
                relative=math.exp(contrast) - 1,
                relative_interval=(math.exp(contrast - ci) - 1, math.exp(contrast + ci) - 1),
                contrast=contrast,
                share=contrast**2 / total,
                p_value=p,
                important=p < 0.05 and abs(contrast) > math.log1p(0.01),
                half_normal=float(stats.norm.ppf(0.5 + 0.5 * (i + 0.5) / len(contrasts))),
                aliases=tuple(named(w) for w in words[1:]),
            )
        )
    return tuple(reversed(effects))


def dispersion_of(values: np.ndarray, column: dict[str, np.ndarray]) -> Dispersion:
    spread = np.log(np.var(values, axis=0, ddof=1))
    effects = []
    for words in alias_sets(column):
        x = column[words[0]]
        contrast = float(spread[x > 0].mean() - spread[x < 0].mean())
        important = abs(contrast) > 1.5
        effects.append(
            Effect(
                options=named(words[0]),
                aliases=(),
                estimate=contrast,
                interval=None,
                standard_error=None,
                relative=0.0,
                relative_interval=None,
                contrast=contrast,
                share=0.03,
                p_value=None,
                important=important,
                half_normal=0.0,
            )
        )
    effects.sort(key=lambda e: -abs(e.contrast))
    return Dispersion("runs", tuple(effects), tuple(e.options[0] for e in effects if e.important))


def raw_screening() -> ScreeningConclusion:
    """The same, decided on the raw scale and judged by Lenth's statistic, higher being better."""
    whole = sqlite_screening()
    effects = tuple(
        replace(e, contrast=e.estimate * 1e6, estimate=e.estimate * 1e6, interval=None, standard_error=None)
        for e in whole.effects
    )
    return replace(
        whole,
        metric=Metric("throughput", "1/s", Better.HIGHER),
        scale=EffectScale.RAW,
        scale_reason="Box-Cox prefers it (lambda = 0.94)",
        judged_by=Noise.LENTH,
        effects=tuple(
            replace(e, half_normal=ranked.half_normal)
            for e, ranked in zip(sorted(effects, key=lambda e: -abs(e.contrast)), whole.effects, strict=True)
        ),
        threshold=60.0,
        detectable=DetectableEffect(75.0, 0.041),
        points=tuple(replace(p, value=p.value * 1e6) for p in whole.points),
        dispersion=None,
        warnings=(),
        conditional_effects=conditional(THROUGHPUT_AT),
    )


def incomplete_screening() -> ScreeningConclusion:
    """A campaign that was interrupted after 20 runs, five of them failures: nothing to judge by, two effects gone."""
    whole = sqlite_screening()
    gone = {("recursive_triggers",), ("cell_size_check",)}
    effects = tuple(
        replace(
            e,
            interval=None,
            relative_interval=None,
            standard_error=None,
            p_value=None,
            important=False,
        )
        for e in whole.effects[:11]
        if e.options not in gone
    )
    return replace(
        whole,
        judged_by=Noise.NONE,
        effects=effects,
        important=(),
        threshold=None,
        detectable=None,
        missing=tuple(sorted(gone)),
        dispersion=None,
        points=whole.points[:15],
        done=15,
        failed=5,
        failures=("timeout after 30 s (3 runs)", "exit status 1: database is locked (2 runs)"),
        seconds=34.0,
        warnings=("76 of 96 runs are still to be made; run `hati screen` again to go on",),
        model=ModelSummary((), 0.0),
        conditional_effects=(),
    )


def empty_screening() -> ScreeningConclusion:
    """Every run failed."""
    return replace(
        incomplete_screening(),
        effects=(),
        points=(),
        done=0,
        missing=(),
        failed=96,
        ranking=tuple(name for name, *_ in OPTIONS),
    )


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"quoted\" & 'single'",
    "🐺 wolf ☾",
    "line\nbreak\ttab\x1b[31mred",
    "[bold red]markup[/bold red]",
    "pipe | and `tick` * star",
    "x" * 300,
    "{{ 7*7 }}{% raw %}",
    "</style><!-- <b>",
    "datum['a'].b\\c",
    "\u202egnp.exe",
    "null",
    "    ",
)


def hostile_screening() -> ScreeningConclusion:
    """The same with names and settings that break out of terminals, HTML, Markdown, JSON and templates."""
    whole = sqlite_screening()
    new = dict(zip((o.name for o in whole.options), HOSTILE, strict=True))

    def names(options: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new[o] for o in options)

    def setting(found: Setting) -> Setting:
        return HOSTILE[0] if found == "OFF" else found

    evil = "<svg/onload=alert(3)>\n"
    return replace(
        whole,
        study=evil,
        subject=HOSTILE[0],
        benchmark=HOSTILE[1],
        revision=HOSTILE[4],
        metric=Metric(HOSTILE[1], "<b>s</b>", Better.LOWER),
        options=tuple(
            replace(o, name=new[o.name], doc=evil + HOSTILE[5], settings=(o.first, HOSTILE[0] if i == 2 else o.second))
            for i, o in enumerate(whole.options)
        ),
        effects=tuple(
            replace(e, options=names(e.options), aliases=tuple(map(names, e.aliases))) for e in whole.effects
        ),
        ranking=names(whole.ranking),
        important=names(whole.important),
        model=ModelSummary(tuple(map(names, whole.model.terms)), whole.model.r_squared),
        points=tuple(
            replace(
                p,
                configuration=Configuration({new[n]: setting(s) for n, s in p.configuration.items()}),
            )
            for p in whole.points
        ),
        dispersion=None,
        failures=(HOSTILE[1], HOSTILE[4]),
        warnings=HOSTILE,
        conditional_effects=tuple(
            replace(
                each,
                option=new[each.option],
                before=setting(each.before),
                after=setting(each.after),
                at=Assignment({new[name]: setting(own) for name, own in each.at.items()}),
            )
            for each in whole.conditional_effects
        ),
        scale_reason=HOSTILE[9],
    )
