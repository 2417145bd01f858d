"""``hati run``: measure, without a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.cli.documents import DocumentFormat, DocumentOption, of_plan, write_document
from hati.cli.dry_run import write_rehearsal
from hati.cli.output import STDOUT, check_output, say
from hati.cli.parameters import (
    HERE,
    BenchmarkName,
    BudgetText,
    DryRun,
    Fresh,
    Output,
    ProjectPath,
    Seed,
    StorePlace,
    Template,
)
from hati.cli.progress import progress
from hati.core import Budget, Configuration, InputError

if TYPE_CHECKING:
    from hati.space import Space


def run(
    path: ProjectPath = HERE,
    benchmark: BenchmarkName = None,
    template: Template = None,
    budget: BudgetText = "10",
    seed: Seed = 1,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: DocumentOption = DocumentFormat.TEXT,
) -> None:
    """Measure the default configuration and summarise its runs.

    With --set other settings; several settings of an option are measured interleaved.
    """
    from hati.report import measurement_document, measurement_json
    from hati.wiring import measure, rehearse_measurement, template_configurations, warm_up_hints, workplace

    Budget.parse(budget)
    place = workplace(path, store, say)
    check_output(output, project=path)
    measured = place.project.benchmark(benchmark)
    configurations = template_configurations(place.project.space, template or (), say)
    if dry_run:
        rehearsal = rehearse_measurement(place, measured, configurations, budget, seed)
        write_rehearsal(rehearsal, of_plan(chosen), output)
        return
    with progress(measured.name) as observe:
        conclusion = measure(place, measured, configurations, budget, seed, fresh=fresh, announce=say, observe=observe)
    for hint in warm_up_hints(place, measured):
        say(f"warning: {hint}")
    write_document(measurement_document(conclusion), lambda: measurement_json(conclusion), chosen, output)


def parse_configuration(space: Space, text: str) -> Configuration:
    """The default configuration with the settings in the text.

    Raises:
        InputError: for what is no option or no setting of it, and for a configuration that is not valid.
    """
    changed = {}
    for part in filter(None, text.split(",")):
        name, equals, setting = part.partition("=")
        if not equals:
            raise InputError(f"--set {part!r} is not a valid setting", fix="write option=setting")
        changed[name.strip()] = setting.strip()
    configuration = space.parse(changed)
    if not space.valid(configuration):
        raise InputError(f"the configuration {configuration} is not valid", fix="see the constraints in hati.toml")
    return configuration
