"""The steps of one run: prepare, server, command, reading, cleanup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hati.core import InputError, Observations, Outcome, Resources
from hati.core.run import REMARKS_APART
from hati.subject.programs import Ending, Program, Warden
from hati.subject.readers import OUTPUT, read, unsettled
from hati.subject.readiness import start_server
from hati.subject.recipe import Recipe
from hati.subject.setback import Setback, failure
from hati.subject.written import read_written


@dataclass(frozen=True)
class Measured:
    """What the command of a run yielded; ``remark`` tells what is to be known of it."""

    ending: Ending
    observations: tuple[Observations, ...]
    remark: str = ""


@dataclass(frozen=True)
class Attempt:
    """Makes one run: each of its programs has the benchmark's time limit for itself."""

    recipe: Recipe
    environment: Mapping[str, str]
    warden: Warden

    def measured(self) -> Measured:
        """Go through the steps; the last ones too where an earlier one fails.

        Raises:
            Setback: at the first that fails.
            InputError: at the first that cannot be tried.
        """
        benchmark = self.recipe.benchmark
        command = self._program(self.recipe.command(), benchmark.cpus)
        if not (benchmark.prepare or benchmark.cleanup or benchmark.server):
            return self._command(command)
        try:
            if benchmark.prepare:
                self._aside("`prepare`", benchmark.prepare)
            measured = self._served(command)
        except (Setback, InputError):
            self._finish()
            raise
        remarks = filter(None, (measured.remark, self._finish()))
        return replace(measured, remark=REMARKS_APART.join(remarks))

    def _finish(self) -> str:
        """Clean up and end what is left; what went wrong with that."""
        remark = ""
        try:
            if cleanup := self.recipe.benchmark.cleanup:
                self._aside("`cleanup`", cleanup)
        except (Setback, InputError) as error:
            remark = str(error)
        self.warden.clear()
        return remark

    def _served(self, command: Program) -> Measured:
        server = self.recipe.benchmark.server
        if server is None:
            return self._command(command)
        program = self._program(self.recipe.fill(server.command), server.cpus)
        try:
            start_server(program, server.ready, self.recipe.port, self.warden)
            measured = self._command(command)
        except (Setback, InputError):
            self.warden.clear()
            raise
        if early := self.warden.clear():
            why = failure("the server", program, early) or "the server ended before the command did"
            raise Setback(Outcome.FAILED, why, measured.ending)
        return measured

    def _command(self, command: Program) -> Measured:
        ending = self.warden.run(command)
        if why := failure("the command", command, ending):
            raise Setback(Outcome.TIMEOUT if ending.problem == "timeout" else Outcome.FAILED, why, ending)
        try:
            written = self.recipe.output
            benchmark = replace(self.recipe.benchmark, reader=self.recipe.reader)
            output = ending.stdout if written is None else read_written(written)
            source = OUTPUT if written is None else written.name
            observations = read(benchmark, output, resources(ending, 0.0), source)
        except InputError as error:
            raise Setback(Outcome.UNREADABLE, str(error), ending) from None
        return Measured(ending, observations, REMARKS_APART.join(unsettled(benchmark, observations)))

    def _aside(self, what: str, argv: Sequence[str]) -> None:
        program = self._program(self.recipe.fill(argv), ())
        ending = self.warden.run_aside(program)
        if why := failure(what, program, ending):
            raise Setback(Outcome.NOT_STARTED, why, ending)

    def _program(self, argv: tuple[str, ...], cpus: tuple[int, ...]) -> Program:
        return Program(argv, self.recipe.tree, self.environment, self.recipe.benchmark.timeout, cpus)


def resources(ending: Ending, load: float) -> Resources:
    """What a program's tree used, with the load when its run started."""
    return Resources(
        ending.wall,
        ending.user,
        ending.system,
        ending.peak,
        ending.voluntary,
        ending.involuntary,
        load,
        ending.pressure,
        ending.steal,
    )
