"""The steps of a run: prepare, server, setup, command, cleanup; runs may share a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from pwd import struct_passwd

from msgspec import Struct

from hati.core import Benchmark, Command, Configuration, InputError, Observations, Outcome, Resources, replace
from hati.core.run import REMARKS_APART
from hati.subject.files.folders import remove
from hati.subject.readers import OUTPUT, read, unsettled
from hati.subject.running.counting import HASH_SEED, UNFIXED, counted_program, counter_source, counts_of
from hati.subject.running.programs import Masking, ProcessResult, Program, RunFailure, Supervisor, failure, give, home
from hati.subject.running.recipe import Recipe, read_written
from hati.subject.running.servers import ServerLog, start_server


class AttemptResult(Struct, frozen=True):
    """The result of a run's command; ``remark`` is a remark on it."""

    ending: ProcessResult
    observations: tuple[Observations, ...]
    remark: str = ""


@dataclass
class Deployment:
    """What one run, or several that share a server, are made in.

    ``work`` is their empty folder, None where they need none; ``port`` a free port. ``environment`` is that in which
    Hati runs, ``logs`` the folder of the servers' logs, ``counts`` the one of what is counted of the command; ``user``
    is who the programs run as, None: who runs Hati. ``served`` are the configurations that the running server was
    measured in.
    """

    supervisor: Supervisor
    environment: Mapping[str, str]
    work: Path | None
    port: int | None
    logs: Path
    counts: Path
    user: struct_passwd | None = None
    masking: Masking = field(default_factory=Masking)
    served: set[Configuration] = field(default_factory=set)
    _recipe: Recipe | None = None
    _log: ServerLog | None = None
    _server: Program | None = None
    _busy: bool = False

    def measured(self, recipe: Recipe) -> AttemptResult:
        """Go through the steps of a run; those before `setup` for the first run only.

        Raises:
            RunFailure: at the first that fails; then it can be used for nothing but `end`.
            InputError: at the first that cannot be tried.
            OSError: where its files cannot be written.
        """
        command = self._measured_program(recipe)
        first = self._recipe is None
        self._write_files(recipe, first=first)
        self._recipe = recipe
        if first:
            self._aside("`prepare`", recipe, map(recipe.fill, recipe.benchmark.prepare))
            self._start_server(recipe)
        if self._log is not None:
            self._log.mark()
        with self._explained():
            self._reload(recipe, first=first)
            self._aside("`setup`", recipe, recipe.setup())
            measured = self._command(recipe, command)
        self.served.add(recipe.task.configuration)
        return measured

    def alive(self) -> bool:
        """Whether the server is still up."""
        if self._server is None:
            return False
        try:
            stands = self.supervisor.look(0.0)
        except RunFailure:
            return False
        return stands.exit is None and not stands.problem

    def end(self, ending: ProcessResult | None = None) -> str:
        """End the server, clean up, and end remaining processes; return the problem, if any.

        Raises:
            RunFailure: with this ``ending``, where the server had ended before.
        """
        try:
            early = self.supervisor.clear() if self._server is not None else None
            remark = self._clean_up()
            if self._log is not None:
                self._log.keep()
            if early is None or self._server is None or self._log is None:
                return remark
            why = failure("the server", self._server, early, self._log.why())
            raise RunFailure(Outcome.FAILED, self._with_log(why or "the server ended before the command did"), ending)
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the folder; what the server logged is kept, without secrets."""
        if self._log is not None:
            self._log.keep()
        remove(self.counts)
        if self.work is not None:
            remove(self.work)

    def _write_files(self, recipe: Recipe, *, first: bool) -> None:
        if self.work is not None and first:
            remove(self.work)
            self.work.mkdir()
            if self.user is not None:
                give(self.user, self.work, self.work)
        for file in recipe.benchmark.files:
            # Jinja2 is slow to load, and most benchmarks can do without.
            from hati.subject.files.templates import of_revision, render, write

            path = Path(recipe.values[f"file:{file.path}"])
            write(path, render(of_revision(file, recipe.tree), recipe.variables))
            if self.user is not None and self.work is not None:
                give(self.user, path, self.work)

    def _clean_up(self) -> str:
        remark, recipe = "", self._recipe
        try:
            if recipe is not None:
                self._aside("`cleanup`", recipe, map(recipe.fill, recipe.benchmark.cleanup))
        except (RunFailure, InputError) as error:
            remark = str(error)
        if self._busy:
            self.supervisor.clear()
        return remark

    def _start_server(self, recipe: Recipe) -> None:
        server = recipe.benchmark.server
        if server is None:
            return
        own = None if server.log is None else recipe.tree / recipe.fill([server.log])[0]
        self._log = ServerLog.begin(self.logs, recipe.task.id[:16], own, self.masking)
        self._server = self._program(recipe, recipe.fill(server.command), server.cpus)
        self._busy = True
        with self._explained():
            start_server(self._server, server.ready, recipe.port, self.supervisor, self._log)

    def _reload(self, recipe: Recipe, *, first: bool) -> None:
        """Let the server take over the settings: a new one has read its files, and knows of no command yet."""
        commands = list(recipe.reload())
        self._aside("`reload`", recipe, commands)
        server = recipe.benchmark.server
        if server is not None and (commands or not first):
            self._aside("`reload`", recipe, map(recipe.fill, server.reload))

    def _command(self, recipe: Recipe, command: Program) -> AttemptResult:
        written = recipe.output
        if written is not None:  # that of an earlier run is not a result of this one
            written.unlink(missing_ok=True)
        if counter_source(recipe.benchmark):
            self._empty_counts()
        ending = self.supervisor.run(command)
        if why := failure("the command", command, ending):
            raise RunFailure(Outcome.TIMEOUT if ending.problem == "timeout" else Outcome.FAILED, why, ending)
        benchmark = replace(recipe.benchmark, reader=recipe.reader)
        observations = self._read(benchmark, ending, written)
        remarks = [*unsettled(benchmark, observations), *([UNFIXED] if command.layout and not ending.laid else [])]
        return AttemptResult(ending, observations, REMARKS_APART.join(remarks))

    def _empty_counts(self) -> None:
        remove(self.counts)
        self.counts.mkdir()
        if self.user is not None:
            give(self.user, self.counts, self.counts)

    def _read(self, benchmark: Benchmark, ending: ProcessResult, written: Path | None) -> tuple[Observations, ...]:
        """What the output says; where it cannot be read, the message quotes no part of a secret."""
        counts = counts_of(ending, benchmark, self.counts)
        used, source = resources(ending, 0.0), OUTPUT if written is None else written.name
        folder = None if written is None else written.parent
        try:
            output = ending.stdout if written is None else read_written(written)
        except InputError as error:
            raise RunFailure(Outcome.UNREADABLE, str(error), ending) from None
        try:
            return read(benchmark, output, used, source, folder, counts)
        except InputError as error:
            why = str(error)
        try:
            read(benchmark, self.masking.mask_bytes(output), used, source, folder, counts)
        except InputError as error:
            why = str(error)
        raise RunFailure(Outcome.UNREADABLE, why, ending)

    def _aside(self, what: str, recipe: Recipe, commands: Iterable[Command]) -> None:
        for argv in commands:
            self._busy = True
            program = self._program(recipe, argv, ())
            ending = self.supervisor.run_aside(program)
            if why := failure(what, program, ending):
                raise RunFailure(Outcome.NOT_STARTED, why, ending)

    def _measured_program(self, recipe: Recipe) -> Program:
        program = self._program(recipe, recipe.command(), recipe.benchmark.cpus)
        return counted_program(program, recipe.benchmark, self.counts)

    def _program(self, recipe: Recipe, argv: Command, cpus: tuple[int, ...]) -> Program:
        user = {} if self.user is None else home(self.user)
        fixed = dict([HASH_SEED]) if counter_source(recipe.benchmark) else {}
        environment = recipe.environment({**self.environment, **user, **fixed})
        name = "" if self.user is None else self.user.pw_name
        return Program(argv, recipe.tree, environment, recipe.benchmark.timeout, cpus, name)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Add a server's log, and its place, to the error of a failure during its life."""
        try:
            yield
        except RunFailure as failed:
            if self._log is not None:
                self.supervisor.look(0.0)  # so that the log has what the server printed until now
                failed.detail = self._with_log(failed.detail)
            raise

    def _with_log(self, detail: str) -> str:
        assert self._log is not None
        why = self._log.why()
        said = f"; the server's log: {why}" if why and why not in detail else ""
        return f"{detail}{said} ({self._log.shown})"


def resources(ending: ProcessResult, load: float) -> Resources:
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
