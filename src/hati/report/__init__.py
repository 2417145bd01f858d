"""What is reported, as plain frozen values: tables, figure data, sentences and exchanged values.

A conclusion goes in; out come tables (text for people, values for programs), the data of figures in tidied
units, and the names and unrounded numbers that programs rely on. Drawing them is the renderers' work.
"""

from hati.report.configurations import configurations_table, measured_table
from hati.report.designs import design_table
from hati.report.figures import EffectFigure, EffectPoint, half_normal, pareto
from hati.report.means import (
    Interaction,
    Interactions,
    MainEffect,
    MainEffects,
    RunOrder,
    RunPoint,
    SettingMean,
    interactions,
    main_effects,
    run_order,
)
from hati.report.measurement import measurement_json, measurement_table
from hati.report.plans import plan_table
from hati.report.promises import promise, promise_in_deviations
from hati.report.quantities import change, duration, general, percent, quantity, tidy
from hati.report.runs import run_table, runs_table
from hati.report.samples import samples_json
from hati.report.spaces import diagnosis_table
from hati.report.table import Align, Cell, Column, Shown, Table, cell_text, cell_value
from hati.report.tables import ScreeningTables, all_effects_table, effects_table, screening_tables
from hati.report.values import Plain, screening_json
from hati.report.words import (
    IMPORTANT,
    NOT_SHOWN,
    answer,
    design_summary,
    detection,
    effect_name,
    run_summary,
    scale_sentence,
    settings_summary,
    space_size,
)

__all__ = [
    "IMPORTANT",
    "NOT_SHOWN",
    "Align",
    "Cell",
    "Column",
    "EffectFigure",
    "EffectPoint",
    "Interaction",
    "Interactions",
    "MainEffect",
    "MainEffects",
    "Plain",
    "RunOrder",
    "RunPoint",
    "ScreeningTables",
    "SettingMean",
    "Shown",
    "Table",
    "all_effects_table",
    "answer",
    "cell_text",
    "cell_value",
    "change",
    "configurations_table",
    "design_summary",
    "design_table",
    "detection",
    "diagnosis_table",
    "duration",
    "effect_name",
    "effects_table",
    "general",
    "half_normal",
    "interactions",
    "main_effects",
    "measured_table",
    "measurement_json",
    "measurement_table",
    "pareto",
    "percent",
    "plan_table",
    "promise",
    "promise_in_deviations",
    "quantity",
    "run_order",
    "run_summary",
    "run_table",
    "runs_table",
    "samples_json",
    "scale_sentence",
    "screening_json",
    "screening_tables",
    "settings_summary",
    "space_size",
    "tidy",
]
