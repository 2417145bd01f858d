"""Projects: ``hati.toml`` read and checked, with errors that point at the place.

A project file holds the subject's name, its options and constraints (a :class:`hati.space.Space`) and
its benchmarks. Everything is checked when it is read: names, types, formulas, placeholders, patterns
and templates, each error with file, line, column and the fix.
"""

from hati.project.benchmarks import Past, PythonTable
from hati.project.files import read_feature_model, skeleton, write_project
from hati.project.pipelines import (
    CheckedProject,
    InstalledHati,
    PipelineFile,
    PipelineService,
    installed_hati,
    write_pipeline,
)
from hati.project.prediction_models import (
    MODEL_SCHEMA_FILE,
    model_json_schema,
    parse_load_range,
    parse_model,
    parse_rate,
    parse_time,
    read_model,
)
from hati.project.project import FILE, LOCAL, WORKERS, Project, known_engine, parse_project, read_project
from hati.project.schema import SCHEMA_FILE, json_schema

__all__ = [
    "FILE",
    "LOCAL",
    "MODEL_SCHEMA_FILE",
    "SCHEMA_FILE",
    "WORKERS",
    "CheckedProject",
    "InstalledHati",
    "Past",
    "PipelineFile",
    "PipelineService",
    "Project",
    "PythonTable",
    "installed_hati",
    "json_schema",
    "known_engine",
    "model_json_schema",
    "parse_load_range",
    "parse_model",
    "parse_project",
    "parse_rate",
    "parse_time",
    "read_feature_model",
    "read_model",
    "read_project",
    "skeleton",
    "write_pipeline",
    "write_project",
]
