"""``hati compare`` of two benchmarks that are measured now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.cli.documents import VerdictFormat, of_plan, write_document
from hati.cli.dry_run import write_plan
from hati.cli.output import say
from hati.cli.parameters import DEFAULT_SEED
from hati.cli.progress import make_watched
from hati.cli.runs import parse_configuration
from hati.cli.sides import is_pattern
from hati.core import Budget, InputError, Pairing, Stopping
from hati.core.wording import suggestion

if TYPE_CHECKING:
    from hati.project import Project
    from hati.studies.comparison import Comparisons, Question
    from hati.studies.paired import Variant

_BUDGET = "64"


class PairOptions(Struct, frozen=True):
    """The options that are of benchmarks only; None and False: not given."""

    project: Path
    both: str | None
    before: str | None
    after: str | None
    stopping: Stopping | None
    duet: bool
    budget: str | None
    seed: int | None
    fresh: bool
    dry_run: bool
    store: str | None

    def means(self, before: str, after: str) -> bool:
        """Whether benchmarks are meant, not files: nothing is called so, or only folders, and benchmarks are.

        Raises:
            InputError: where the project file is wrong.
        """
        from hati.project import read_project

        paths = Path(before), Path(after)
        if not (self.project.is_file() or (self.project / "hati.toml").is_file()) or any(map(Path.is_file, paths)):
            return False
        if not any(map(Path.exists, paths)) and not is_pattern(before) and not is_pattern(after):
            return True
        known = {benchmark.name for benchmark in read_project(self.project).benchmarks}
        return {before, after} <= known

    def refuse(self) -> None:
        """See that none of them is given with files.

        Raises:
            InputError: where one is.
        """
        given = {
            "--set": self.both,
            "--set-before": self.before,
            "--set-after": self.after,
            "--stop": self.stopping,
            "--duet": self.duet or None,
            "--budget": self.budget,
            "--fresh": self.fresh or None,
            "--dry-run": self.dry_run or None,
        }
        for name, value in given.items():
            if value is not None:
                raise InputError(
                    f"{name} is for benchmarks that are measured now, and files are compared as they are",
                    fix="leave it out, or name two benchmarks of hati.toml",
                )


def compare_now(
    names: tuple[str, str],
    question: Question,
    metric: str | None,
    options: PairOptions,
    output: str,
    chosen: VerdictFormat,
) -> Comparisons | None:
    """Measure two benchmarks in pairs, write what came out and return it; None where tasks were only shown.

    Raises:
        InputError: where there are no such benchmarks, or what is asked of them cannot be.
        MeasurementError: where nothing could be measured.
    """
    from hati.report import paired_document, paired_json, variant_names
    from hati.wiring import PairedRequest, plan_campaign, prepare_pairs, workplace

    budget, seed = options.budget or _BUDGET, DEFAULT_SEED if options.seed is None else options.seed
    Budget.parse(budget)
    place = workplace(options.project, options.store, say)
    before, after = (
        _variant(place.project, name, f"{options.both or ''},{own or ''}")
        for name, own in zip(names, (options.before, options.after), strict=True)
    )
    stopping = options.stopping or Stopping.ANYTIME
    pairing = Pairing.DUET if options.duet else Pairing.INTERLEAVED
    request = PairedRequest(before, after, budget, seed, metric, question, stopping, pairing)
    prepared = prepare_pairs(place, request, fresh=options.fresh)
    if options.dry_run:
        write_plan(plan_campaign(prepared), of_plan(chosen), output)
        return None
    found = make_watched(prepared, " against ".join(reversed(variant_names(before, after))))
    write_document(paired_document(found), lambda: paired_json(found), chosen, output)
    return found.comparisons


def _variant(project: Project, name: str, settings: str) -> Variant:
    from hati.studies.paired import Variant

    known = [benchmark.name for benchmark in project.benchmarks]
    if name not in known:
        raise InputError(f"{name!r} is neither a file nor a benchmark of {project.file}", fix=suggestion(name, known))
    return Variant(project.benchmark(name), parse_configuration(project.space, settings))
