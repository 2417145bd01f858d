"""``hati compare`` of two benchmarks that are measured now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from hati.cli.documents import of_plan, write_document
from hati.cli.dry_run import write_plan
from hati.cli.output import say
from hati.cli.parameters import DEFAULT_SEED
from hati.cli.progress import make_watched
from hati.core import Budget, ExitStatus, InputError, Pairing, Stopping

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
        from hati.wiring.comparing_files import is_pattern

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
    asked: Mapping[str, Any],
    options: PairOptions,
    output: str,
    chosen: str,
) -> int:
    """Measure two benchmarks in pairs, and write what came out; the exit status.

    ``asked`` are the level, margin, statistic, metric and verdicts that fail.

    Raises:
        InputError: where there are no such benchmarks, or what is asked of them cannot be.
        MeasurementError: where nothing could be measured.
    """
    from hati.wiring import PairedRequest, plan_campaign
    from hati.wiring.study_types import own_type

    kind = own_type("paired")
    before, after = names
    request = PairedRequest(
        before=before,
        after=after,
        set_before=",".join(filter(None, (options.both, options.before))),
        set_after=",".join(filter(None, (options.both, options.after))),
        stopping=options.stopping or Stopping.ANYTIME,
        pairing=Pairing.DUET if options.duet else Pairing.INTERLEAVED,
        budget=options.budget or _BUDGET,
        seed=DEFAULT_SEED if options.seed is None else options.seed,
        **asked,
    )
    Budget.parse(request.budget)
    place = kind.open(options.project, options.store, request, say)
    prepared = kind.prepare(place, request, fresh=options.fresh)
    if options.dry_run:
        write_plan(plan_campaign(prepared), of_plan(chosen), output)
        return ExitStatus.OK
    found = make_watched(kind, prepared, request)
    written = kind.concluded(prepared, request, found)
    write_document(written.document, written.values, chosen, output)
    return written.status
