"""``hati assert``: do stated requirements hold?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.compare import UNDECIDED, WORSE
from hati.cli.output import STDOUT, check_output, console, whether_read_or_not, write
from hati.cli.parameters import Output, Seed
from hati.cli.screen import parse_share
from hati.core import InputError

if TYPE_CHECKING:
    from hati.logic.interpret import Verdict
    from hati.studies.assertion import Answer, Requirement, Standard
    from hati.wiring import NamedFile

_TITLE = "hati assert"


class AssertionFormat(StrEnum):
    """How judged formulas are written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"


class InterpretationName(StrEnum):
    """How measurements decide a relation."""

    DEFAULT = "default"
    WELCH = "welch"
    PARAMETRIC = "parametric"
    NONPARAMETRIC = "nonparametric"


_Paths = Annotated[
    list[Path] | None, typer.Argument(metavar="PATH...", help="Files of formulas (*.spl), or folders with some.")
]
_Formula = Annotated[list[str] | None, typer.Option("--formula", metavar="FORMULA", help="A formula; may be repeated.")]
_Samples = Annotated[
    list[str] | None,
    typer.Option(
        "--samples", metavar="NAME=FILE,...", help="What was measured of each method: a file, or FILE#BENCHMARK."
    ),
]
_History = Annotated[
    list[str] | None,
    typer.Option("--history", metavar="NAME=FILE,...", help="Earlier samples of the same, which tell how runs vary."),
]
_Interpretation = Annotated[
    InterpretationName, typer.Option("--interpretation", help="By what is decided: Hati's own, or one of seed 004's.")
]
_Margin = Annotated[str, typer.Option("--margin", metavar="SHARE", help="The room of what is not strict: 2% or 0.02.")]
_Alpha = Annotated[str, typer.Option("--alpha", metavar="SHARE", help="How often a verdict may be wrong: 1% or 0.01.")]
_FailOn = Annotated[
    str, typer.Option("--fail-on", metavar="VERDICTS", help="Which end with a status above 0: violated, inconclusive.")
]
_Explain = Annotated[
    int | None, typer.Option("--explain", metavar="N", min=1, help="Tell in words how the N-th formula was decided.")
]
_Chosen = Annotated[AssertionFormat, typer.Option("--format", help="How the result is written.")]


def assert_(
    paths: _Paths = None,
    formula: _Formula = None,
    samples: _Samples = None,
    history: _History = None,
    interpretation: _Interpretation = InterpretationName.DEFAULT,
    margin: _Margin = "2%",
    alpha: _Alpha = "1%",
    fail_on: _FailOn = "violated,inconclusive",
    explain: _Explain = None,
    seed: Seed = 1,
    output: Output = STDOUT,
    chosen: _Chosen = AssertionFormat.TEXT,
) -> int:
    """Decide formulas from what was measured: each HOLDS, is VIOLATED or INCONCLUSIVE, with its evidence."""
    from hati.logic.interpret import Interpretation
    from hati.studies.assertion import Standard, answer
    from hati.wiring import book_of

    standard = Standard(Interpretation(interpretation.value), parse_share(alpha), parse_share(margin), seed)
    failing = _parse_failing(fail_on)
    requirements = _requirements(paths or [], formula or [])
    if explain is not None and explain > len(requirements):
        raise InputError(f"--explain {explain}: there are {len(requirements)} formulas", fix="count them from 1")
    named, earlier = (_named_files(texts or []) for texts in (samples, history))
    check_output(output, *(paths or ()), *(file.path for file in (*named, *earlier)))
    answers = answer(requirements, book_of(named, earlier), standard)
    with whether_read_or_not():
        if explain is None:
            _write(answers, standard, chosen, output)
        else:
            _explain(answers[explain - 1], standard, output)
    return _status(answers, failing)


def _requirements(paths: list[Path], formulas: list[str]) -> tuple[Requirement, ...]:
    from hati.wiring import formulas_in, formulas_of

    found = (*formulas_in(paths), *(each for text in formulas for each in formulas_of(text)))
    if not found:
        raise InputError("there is no formula", fix="name a file of formulas, or give one by --formula")
    return found


def _named_files(texts: list[str]) -> list[NamedFile]:
    from hati.wiring import NamedFile, split_samples

    return [NamedFile.parse(part) for text in texts for part in split_samples(text)]


def _parse_failing(text: str) -> frozenset[Verdict]:
    from hati.logic.interpret import Verdict

    able = {verdict.value.lower(): verdict for verdict in Verdict if verdict is not Verdict.HOLDS}
    words = [word.strip() for word in text.split(",") if word.strip() and word.strip() != "none"]
    for word in words:
        if word not in able:
            raise InputError(f"--fail-on {word!r} is no verdict that can fail", fix=f"write {', '.join(able)}, or none")
    return frozenset(able[word] for word in words)


def _status(answers: tuple[Answer, ...], failing: frozenset[Verdict]) -> int:
    from hati.logic.interpret import Verdict

    found = {each.verdict for each in answers} & failing
    if Verdict.VIOLATED in found:
        return WORSE
    return UNDECIDED if found else 0


def _write(answers: tuple[Answer, ...], standard: Standard, chosen: AssertionFormat, output: str) -> None:
    from hati import render
    from hati.report import assertion_cases, assertion_json, assertion_table

    table = assertion_table(answers, standard)
    if chosen is AssertionFormat.JSON:
        write(render.to_json(assertion_json(answers, 0.0)), output)
    elif chosen is AssertionFormat.JUNIT:
        write(render.to_junit(_TITLE, assertion_cases(answers)), output)
    elif chosen is AssertionFormat.MARKDOWN:
        write(render.table_markdown(table), output)
    elif output == STDOUT:
        render.print_table(table, console())
    else:
        write(render.table_text(table), output)


def _explain(found: Answer, standard: Standard, output: str) -> None:
    from hati.report import explanation

    write(explanation(found, standard), output)
