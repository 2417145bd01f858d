"""Lines that runs executed, merged over configurations."""

from __future__ import annotations

import numpy as np

from hati.core import Configuration, Observations, Run, replace
from hati.core.benchmark import LINE_NUMBER
from hati.studies.line_coverage import AddingConfiguration, FileLines, coverage_document, merged_lines
from hati.testing.conformance import a_run, a_study


def run(setting: int, *lines: int) -> Run:
    """A run of one file of six lines, at a setting."""
    signed = [line if line in lines else -line for line in range(1, 7)]
    known = a_run(a_study())
    task = replace(known.task, configuration=Configuration({"o": setting}))
    return replace(
        known, task=task, observations=(Observations("lines of a.c", LINE_NUMBER, np.array(signed, dtype=float)),)
    )


def test_each_configuration_adds_the_most_lines_to_those_before_it() -> None:
    found = merged_lines("b", [run(1, 1, 2), run(2, 1, 2, 3), run(3, 4), run(4, 2, 3), run(3, 1)])
    assert found is not None
    assert (found.runs, found.configurations, found.lines, found.executed) == (5, 4, 6, 4)
    assert found.adding == (
        AddingConfiguration(Configuration({"o": 2}), 3, 3, 3),
        AddingConfiguration(Configuration({"o": 3}), 2, 1, 4),
    )
    assert found.files == (FileLines("a.c", 6, 4, (5, 6)),)
    report = coverage_document(found)
    assert report.answer == (
        "4 configurations executed 4 of 6 lines (66.7 %), the best alone 3; 2 lines were missed by all."
    )
    assert "2 further configurations add no line." in report.tables[0].notes
    assert report.tables[1].rows == (("a.c", 6, 4, "5-6"),)
    assert report.tables[1].columns[-1].name == "missed lines"


def test_runs_without_lines_have_no_coverage() -> None:
    assert merged_lines("b", [a_run(a_study())]) is None


def test_a_metric_with_such_a_name_is_measured() -> None:
    own = replace(a_run(a_study()), observations=(Observations("lines of code", "1", np.array([120.0])),))
    assert own.measured == own.observations
    assert merged_lines("b", [own]) is None
