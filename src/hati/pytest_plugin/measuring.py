"""The formulas of a session, measured together: one campaign for each project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from hati.core import HatiError
from hati.logic.interpret import Verdict
from hati.pytest_plugin.interpreting import own_interpreter
from hati.report import assertion_answer, assertion_evidence, duration
from hati.studies.assertion import Answer, Assured, Requirement, Standard
from hati.wiring import assure, prepare_assertion, workplace_around

Stated = tuple[Path, Requirement]
"""The project's folder, and a formula about it."""


@dataclass(frozen=True)
class Judgement:
    """What is told of a formula: in full, in a line, and as properties of its test."""

    verdict: Verdict
    report: str
    summary: str
    properties: tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class _Campaign:
    """What came of the formulas of a project, in their order."""

    judgements: tuple[Judgement, ...]
    cost: str


class Measurements:
    """What is measured for the selected tests, by their ids; nothing before one of them runs."""

    def __init__(self, config: pytest.Config, selected: Mapping[str, Stated]) -> None:
        self._config = config
        self._selected = dict(selected)
        self._campaigns: dict[Path, _Campaign | HatiError] = {}

    def of(self, test: str) -> Judgement:
        """What is told of a test's formula.

        Raises:
            HatiError: where its project's formulas cannot be measured.
        """
        project, _ = self._selected[test]
        tests = [each for each, stated in self._selected.items() if stated[0] == project]
        if project not in self._campaigns:
            self._campaigns[project] = self._tried(project, [self._selected[each][1] for each in tests])
        campaign = self._campaigns[project]
        if isinstance(campaign, HatiError):
            raise campaign
        return campaign.judgements[tests.index(test)]

    def costs(self) -> Iterator[str]:
        """What each campaign took."""
        for campaign in self._campaigns.values():
            if isinstance(campaign, _Campaign):
                yield campaign.cost

    def _tried(self, project: Path, requirements: Sequence[Requirement]) -> _Campaign | HatiError:
        try:
            with own_interpreter():
                return self._made(project, requirements)
        except HatiError as error:
            return error

    def _made(self, project: Path, requirements: Sequence[Requirement]) -> _Campaign:
        option = self._config.getoption
        place = workplace_around(project, None)
        prepared = prepare_assertion(place, requirements, Standard(), option("hati_budget"), fresh=option("hati_fresh"))
        before = "measured before (--hati-fresh measures again): " if prepared.finished else ""
        if not before:
            count = f"{len(requirements)} formula{'s' if len(requirements) > 1 else ''}"
            self._say(f"measuring {count}, --hati-budget {option('hati_budget')} at most")
        found = assure(prepared, self._say)
        book = prepared.study.book(prepared.evidence())
        judgements = tuple(_judgement(each, assertion_evidence(each, book)) for each in found.answers)
        return _Campaign(judgements, f"{before}{_cost(found)}")

    def _say(self, text: str) -> None:
        """On the terminal, though pytest captures what tests write."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        if terminal is None or capture is None or self._config.get_verbosity() < 0:
            return
        with capture.global_and_fixture_disabled():
            terminal.ensure_newline()
            terminal.write_line(f"hati: {text}")


def _judgement(each: Answer, report: str) -> Judgement:
    found: list[tuple[str, object]] = [("hati_verdict", each.verdict.value)]
    for atom in each.atoms:
        found.append((f"hati_runs {atom.text}", " + ".join(str(size) for size in atom.evidence.runs if size) or "0"))
        found.append((f"hati_estimate {atom.text}", atom.evidence.estimate))
    return Judgement(each.verdict, report, assertion_answer((each,)), tuple(found))


def _cost(found: Assured) -> str:
    failures = "".join(f"; failed: {why}" for why in found.failures)
    return f"{assertion_answer(found.answers)}; {found.runs:,} runs, {duration(found.seconds)} in all{failures}"
