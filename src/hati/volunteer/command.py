"""The command ``hati join``: its options, and what they make."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Optional

from .agent import Agent
from .artefacts import Kept
from .connection import Connection
from .files import BAD_INPUT, CANNOT_RUN, JoinError, Unreachable, locked
from .limits import Hours, Limits, OwnerTemplate, parse_settings, parse_size, parse_time
from .registration import about, chosen_name, default_home, folder_of, join
from .sandbox import check_hidden, find


@dataclass(frozen=True)
class Options:
    """The options of ``hati join`` as texts."""

    url: str
    name: Optional[str] = None
    invitation: Optional[str] = None
    key: Optional[str] = None
    ca: Optional[str] = None
    once: bool = False
    hours: Optional[str] = None
    memory: str = "2G"
    disk: str = "1G"
    processes: int = 256
    cpu: Optional[str] = None
    keep: str = "4G"
    only: Sequence[str] = field(default=())
    has: Sequence[str] = field(default=())
    without_sandbox: bool = False
    home: Optional[str] = None

    def template(self) -> OwnerTemplate:
        """What the owner permits.

        Raises:
            JoinError: where an option is not valid.
        """
        limits = Limits(
            parse_size(self.memory),
            parse_size(self.disk),
            self.processes,
            None if self.cpu is None else parse_time(self.cpu),
        )
        return OwnerTemplate(
            limits, None if self.hours is None else Hours.parse(self.hours), parse_settings("--only", list(self.only))
        )


def run(options: Options) -> int:
    """Join a server, and work; return the exit status. Errors are printed in one line."""
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        _work(options)
    except JoinError as error:
        say(f"error: {error}")
        return error.status
    except OSError as error:
        say(f"error: {error.filename or 'a file'} cannot be used: {error.strerror or error}; name another `--home`")
        return CANNOT_RUN
    except KeyboardInterrupt:
        say("ended on request")
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def say(line: str) -> None:
    """Print a line, without characters that might change what a terminal shows: it may quote the server."""
    printable = "".join(character if character.isprintable() else " " for character in line)
    sys.stderr.write(f"{printable}\n")
    sys.stderr.flush()


def _work(options: Options) -> None:
    template, has = options.template(), parse_settings("--has", list(options.has))
    most = parse_size(options.keep)
    connection = Connection(options.url, None if options.ca is None else Path(options.ca))
    sandbox = find(without=options.without_sandbox)
    home = default_home() if options.home is None else Path(options.home)
    folder = folder_of(connection.url, home)
    if not options.without_sandbox:
        check_hidden(Path.home(), folder)
    connection.registration = str(folder / "machine.json")
    with locked(folder / "lock", None) as lock:
        if lock is None:
            raise JoinError(f"another client works for {connection.url} here", "wait for it, or name another `--home`")
        own = about(chosen_name(folder, options.name), sandbox.name, template.json(), has)
        try:
            member = join(connection, home, own, options.invitation, options.key, say)
        except Unreachable as error:
            raise JoinError(str(error), "join again later") from None
        agent = Agent(connection, member, own, sandbox, template, Kept(folder / "kept", most), say)
        try:
            agent.serve(once=options.once)
        finally:
            say(f"{agent.runs:,} run{'' if agent.runs == 1 else 's'}, {agent.delivered:,} delivered")


def _stop(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command of the file that runs without Hati."""
    parser = argparse.ArgumentParser(prog="hati-join", description="Run benchmarks for a Hati server on this machine.")
    parser.add_argument("url", metavar="URL", help="Address of the server, such as https://bench.example.org.")
    for flag, about_it in OPTIONS.items():
        parser.add_argument(flag, help=about_it.text, **about_it.parsing)
    try:
        found = parser.parse_args(arguments)
    except SystemExit as ended:
        return int(ended.code or 0) and BAD_INPUT
    return run(Options(**vars(found)))


@dataclass(frozen=True)
class OptionHelp:
    """The help of an option, and how ``argparse`` reads it."""

    text: str
    parsing: dict[str, Any]


def _text(text: str, metavar: str, **more: Any) -> OptionHelp:
    return OptionHelp(text, {"metavar": metavar, **more})


OPTIONS = {
    "--name": _text("Name of this machine [default: the host's].", "NAME"),
    "--invitation": _text("Invitation from the server's owner.", "TEXT"),
    "--key": _text("Public key of the owner's releases, or its file.", "KEY"),
    "--ca": _text("Certificate of the authority that signed the server's.", "FILE"),
    "--once": OptionHelp("End as soon as there is nothing to run.", {"action": "store_true"}),
    "--hours": _text("Hours in which work may begin, such as 22-6.", "HOURS"),
    "--memory": _text("Most memory of a run [default: 2G].", "SIZE", default="2G"),
    "--disk": _text("Most disk space of a run [default: 1G].", "SIZE", default="1G"),
    "--processes": _text("Most processes of a run [default: 256].", "N", type=int, default=256),
    "--cpu": _text("Most CPU time of each process, such as 10m.", "TIME"),
    "--keep": _text("Most disk space of kept artefacts and builds [default: 4G].", "SIZE", default="4G"),
    "--only": _text("Settings that this machine runs: OPTION=A,B; repeatable.", "TEXT", action="append", default=[]),
    "--has": _text("What this machine has: NAME=VALUE,VALUE; repeatable.", "TEXT", action="append", default=[]),
    "--without-sandbox": OptionHelp("Run jobs without a sandbox, and say so.", {"action": "store_true"}),
    "--home": _text("Folder of the client's files.", "FOLDER"),
}
