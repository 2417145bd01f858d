"""``hati assert``: do stated requirements hold?"""

from __future__ import annotations

from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from hati.cli.asserted import SAMPLES, refuse_others, write_assured, write_explanation, write_portability
from hati.cli.documents import VerdictFormat, VerdictOption, of_plan, parse_target
from hati.cli.dry_run import write_plan
from hati.cli.output import STDOUT, check_targets, say, whether_read_or_not
from hati.cli.parameters import HERE, DryRun, Fresh, Output, Seed, StorePlace, refuse_given
from hati.cli.progress import progress
from hati.core import ExitStatus, InputError, parse_share, requests

if TYPE_CHECKING:
    from hati.core import Evidence
    from hati.logic.interpret import FormulaVerdict
    from hati.studies.assertion import Assertion, Assured, Portability, Requirement, Standard
    from hati.wiring import NamedFile


class InterpretationName(StrEnum):
    """How measurements decide a relation."""

    DEFAULT = "default"
    WELCH = "welch"
    PARAMETRIC = "parametric"
    NONPARAMETRIC = "nonparametric"


_Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH...", help="Files with formulas (*.spl, or *.py with @hati.spl), or folders."),
]
_Formula = Annotated[
    list[str] | None, typer.Option("--formula", metavar="FORMULA", help="Formula to decide; repeatable.")
]
_Samples = Annotated[
    list[str] | None,
    typer.Option("--samples", metavar="NAME=FILE,...", help="Samples of each method: FILE, or FILE#BENCHMARK."),
]
_History = Annotated[
    list[str] | None,
    typer.Option(
        "--history",
        metavar="NAME=FILE,...",
        help="Earlier samples of the same methods, to estimate the variance between runs.",
    ),
]
_Interpretation = Annotated[
    InterpretationName,
    typer.Option("--interpretation", help="Tests that decide: Hati's own, or as printed in the SPL paper."),
]
_Margin = Annotated[str, typer.Option("--margin", metavar="FRACTION", help="Tolerance of <=, >= and =, such as 2%.")]
_Alpha = Annotated[str, typer.Option("--alpha", metavar="FRACTION", help="Error rate of each verdict, such as 1%.")]
_FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on", metavar="VERDICTS", help="Verdicts that fail the command: violated, inconclusive, or none."
    ),
]
_Project = Annotated[
    Path | None,
    typer.Option(
        "--project", metavar="PATH", help="Folder with hati.toml, or the file [default: the nearest one around PATH]."
    ),
]
_Budget = Annotated[
    str,
    typer.Option("--budget", metavar="RUNS|TIME", help="Limit on measuring: a number of runs, or a time such as 2m."),
]
_Explain = Annotated[
    int | None, typer.Option("--explain", metavar="N", min=1, help="Explain how the N-th formula was decided.")
]
_Machines = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--machines",
        metavar="A B",
        help="Compare two machines (names or fingerprints) by what was measured on both.",
    ),
]
_Reports = Annotated[
    list[str] | None,
    typer.Option(
        "--report",
        metavar="FORMAT=FILE",
        help="Write the result to another file too, such as html=formulas.html; repeatable.",
    ),
]


def assert_(
    context: typer.Context,
    paths: _Paths = None,
    formula: _Formula = None,
    samples: _Samples = None,
    history: _History = None,
    interpretation: _Interpretation = InterpretationName.DEFAULT,
    margin: _Margin = "2%",
    alpha: _Alpha = "1%",
    fail_on: _FailOn = "violated,inconclusive",
    explain: _Explain = None,
    machines: _Machines = None,
    project: _Project = None,
    budget: _Budget = "5m",
    seed: Seed = 1,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    report: _Reports = None,
    chosen: VerdictOption = VerdictFormat.TEXT.value,
) -> int:
    """Decide formulas: HOLDS, VIOLATED or INCONCLUSIVE.

    Measures the methods that the formulas mention, or reads them from --samples.
    """
    from hati.logic.interpret import Interpretation
    from hati.studies.assertion import Standard

    standard = Standard(Interpretation(interpretation.value), parse_share(alpha), parse_share(margin), seed)
    failing = _parse_failing(fail_on)
    requirements = _requirements(paths or [], formula or [], project)
    if explain is not None:
        _check_explained(explain, len(requirements), chosen)
    reports = [parse_target(text, VerdictFormat) for text in report or ()]
    formats = [chosen, *(kind for kind, _ in reports)]
    given = [each.path for each in _named_files([*(samples or ()), *(history or ())])]
    around = None if samples else project_of(project, paths or [])
    check_targets(output, reports, *(paths or ()), *given, project=around)
    if machines is not None:
        refuse_others(context, formats)
        confidence = 1.0 - 2.0 * standard.alpha
        ported = (
            _ported_by_samples(requirements, machines, samples, confidence)
            if samples
            else _ported(requirements, machines, project_of(project, paths or []), store, confidence)
        )
        return _failed(write_portability(ported, [*reports, (chosen, output)]))
    if samples:
        refuse_given(context, ("budget", "fresh", "dry_run", "store"), SAMPLES)
        found = _by_samples(requirements, standard, samples, history or [])
    else:
        if dry_run:
            refuse_given(context, ("report", "explain"), "--dry-run, which measures nothing")
        if history:
            raise InputError("--history is for --samples", fix="leave it out, or give samples of all methods")
        place = project_of(project, paths or [])
        measured = _measured(requirements, standard, Measuring(place, budget, fresh, dry_run, store), output, chosen)
        if measured is None:
            return 0
        found = measured
    if explain is not None:
        with whether_read_or_not():
            write_explanation(found.answers[explain - 1], found.standard, output)
    errors = write_assured(found, standard, [*reports, *([(chosen, output)] if explain is None else [])])
    failed = _failed(errors)
    return _status(found, failing) or failed


def _check_explained(number: int, formulas: int, chosen: str) -> None:
    from hati.core.wording import counted

    if number > formulas:
        raise InputError(f"--explain {number}: there is {counted(formulas, 'formula')}", fix="count them from 1")
    if chosen != VerdictFormat.TEXT:
        raise InputError(
            f"--explain writes text, not {chosen}", fix=f"leave out --format, or give --report {chosen}=FILE too"
        )


def _failed(errors: list[str]) -> int:
    """Say them; the exit status where there is nothing worse."""
    for error in errors:
        say(f"error: {error}")
    return ExitStatus.BAD_INPUT if errors else 0


class Measuring(Struct, frozen=True):
    """The options of measuring."""

    project: Path
    budget: str
    fresh: bool
    dry_run: bool
    store: str | None


def project_of(project: Path | None, paths: list[Path]) -> Path:
    """The folder of what is measured.

    Raises:
        InputError: where the paths are of several projects.
    """
    from hati.wiring import project_around

    if project is not None:
        return project
    found = list(dict.fromkeys(project_around(path) for path in paths or [HERE]))
    if len(found) > 1:
        raise InputError(f"the formulas are of {len(found)} projects: {found[0]}, {found[1]}", fix="say --project")
    return found[0]


def _ported_by_samples(
    requirements: tuple[Requirement, ...], machines: tuple[str, str], samples: list[str], confidence: float
) -> Portability:
    from hati.wiring import book_of, sampled_portability

    return sampled_portability(book_of(_named_files(samples)), requirements, machines, confidence)


def _ported(
    requirements: tuple[Requirement, ...],
    machines: tuple[str, str],
    around: Path,
    store: str | None,
    confidence: float,
) -> Portability:
    from hati.wiring import stored_portability, workplace_around

    return stored_portability(workplace_around(around, store), requirements, machines, confidence)


def _by_samples(
    requirements: tuple[Requirement, ...], standard: Standard, samples: list[str], history: list[str]
) -> Assured:
    from hati.logic.interpret import Interpretation
    from hati.studies.assertion import Assured, answer
    from hati.wiring import book_of, unused_names

    if history and standard.interpretation in {Interpretation.WELCH, Interpretation.PARAMETRIC}:
        raise InputError(f"--interpretation {standard.interpretation} uses no --history", fix="leave one of them out")
    book = book_of(_named_files(samples), _named_files(history))
    if unused := unused_names(requirements, book):
        say(f"no formula is about {', '.join(unused)} of --samples")
    return Assured("", answer(requirements, book, standard), standard, (), 0, 0.0, book=book)


def _measured(
    requirements: tuple[Requirement, ...],
    standard: Standard,
    measuring: Measuring,
    output: str,
    chosen: str,
) -> Assured | None:
    """What measuring says; None where tasks were only shown."""
    from hati.wiring import (
        assure,
        plan_assertion,
        prepare_assertion,
        unresolved_names,
        workplace_around,
        workplace_to_look,
    )

    measures = not measuring.dry_run and any(each.relations for each in requirements)
    place = (workplace_around if measures else workplace_to_look)(measuring.project, measuring.store, say)
    prepared = prepare_assertion(place, requirements, standard, measuring.budget, fresh=measuring.fresh)
    if measuring.dry_run:
        planned = plan_assertion(prepared)
        write_plan(planned.whole, of_plan(chosen), output, planned.methods)
        return None
    for error in filter(None, unresolved_names(prepared)):
        raise error
    if prepared.known:
        say(f"{prepared.study.id.key} was measured before; --fresh measures again")
    with progress("formulas", lambda known: _decided(prepared.study, known)) as observe:
        return assure(prepared, say, observe)


def _decided(study: Assertion, known: Evidence) -> str:
    """How many formulas are, where that is known before the budget is spent."""
    from hati.logic.interpret import Interpretation

    if study.standard.interpretation is not Interpretation.DEFAULT:
        return ""
    return f"{study.decided(known)} of {len(study.requirements)} decided"


def _requirements(paths: list[Path], formulas: list[str], project: Path | None) -> tuple[Requirement, ...]:
    from hati.wiring import formulas_in, formulas_of, together

    stated = (each for text in formulas for each in formulas_of(text))
    found = together(chain(formulas_in(paths, project), stated))
    if not found:
        raise InputError("there is no formula", fix="name a file of formulas, or give one by --formula")
    return found


def _named_files(texts: list[str]) -> list[NamedFile]:
    from hati.wiring import NamedFile, split_samples

    return [NamedFile.parse(part) for text in texts for part in split_samples(text)]


def _parse_failing(text: str) -> frozenset[FormulaVerdict]:
    from hati.logic.interpret import FormulaVerdict

    able = {verdict.value.lower(): verdict for verdict in FormulaVerdict if verdict is not FormulaVerdict.HOLDS}
    return requests.parse_failing(text, able)


def _status(assured: Assured, failing: frozenset[FormulaVerdict]) -> int:
    """What could not be measured, or judged, fails as soon as anything does: a requirement is never silently dead."""
    from hati.logic.interpret import FormulaVerdict
    from hati.studies.assertion import blockers

    found = {each.verdict for each in assured.answers} & failing
    if FormulaVerdict.VIOLATED in found:
        return ExitStatus.WORSE
    if failing and any(blockers(each, assured.book) for each in assured.answers):
        return ExitStatus.NOT_MEASURED
    return ExitStatus.UNDECIDED if found else 0
