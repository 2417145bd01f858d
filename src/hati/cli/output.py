"""Output of results: to standard output, or to a file that is written completely or not at all."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from hati.core import InputError

if TYPE_CHECKING:
    from rich.console import Console

STDOUT = "-"
_OWN = ".hati"
_REPORTS = "reports"
_PROJECT_FILE = "hati.toml"
_DATABASE = b"SQLite format 3\0"


class Format(StrEnum):
    """The format of a result."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class TableFormat(StrEnum):
    """The format of a table."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"


def write(content: str | bytes, output: str = STDOUT) -> None:
    """Write a result to standard output, or to a file that is replaced in one step.

    Raises:
        InputError: where the file cannot be written.
    """
    write_pieces([content], output)


def write_pieces(pieces: Iterable[str | bytes], output: str = STDOUT) -> None:
    """Write a result that comes in pieces; a file is replaced in one step, once it is complete.

    Raises:
        InputError: if the file cannot be written, or is one that Hati keeps.
    """
    data = (piece.encode() if isinstance(piece, str) else piece for piece in pieces)
    if output == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(data)
        sys.stdout.buffer.flush()
        return
    path = Path(output)
    _refuse_kept(path)
    try:
        _replace(path, data)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}", fix="name another file") from error
    from hati.subject.folders import remember_output

    remember_output(path)


def write_targets(targets: Sequence[tuple[str, str]], writer: Callable[[str, str], None]) -> tuple[list[str], bool]:
    """Write every report that can be written; return the errors of the others, and whether standard output has one."""
    errors, shown = [], False
    for kind, file in sorted(targets, key=lambda target: target[1] == STDOUT):  # files first: a pipe may be closed
        try:
            with whether_read_or_not():
                writer(kind, file)
                sys.stdout.flush()
        except InputError as error:
            errors.append(str(error))
        except OSError as error:
            discard_output()
            errors.append(f"standard output cannot be written: {error.strerror}")
        else:
            shown = shown or file == STDOUT
    return errors, shown


@contextmanager
def whether_read_or_not() -> Iterator[None]:
    """Finish the work and keep the exit status, even if the reader closes the pipe (`hati check | head`)."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):  # rich's way
            raise
        discard_output()


def discard_output() -> None:
    """Redirect standard output to the null device, so that Python's last flush does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_targets(output: str, reports: Sequence[tuple[str, str]], *inputs: Path, project: Path | None = None) -> None:
    """Check, before any work is done, that all results can be written, each to its own file.

    Raises:
        InputError: as ``check_output``, and if two results have the same file.
    """
    check_output(output, *inputs, project=project)
    seen = {Path(output).resolve()}
    for _, file in reports:
        check_output(file, *inputs, project=project, option="--report")
        path = Path(file).resolve()
        if file != STDOUT and path in seen and (path.is_file() or not path.exists()):
            raise InputError(f"{file} is written twice", fix="give each --report, and --output, a file of its own")
        seen.add(path)


def check_output(output: str, *inputs: Path, project: Path | None = None, option: str = "--output") -> None:
    """Check, before any work is done, that a result can be written there; ``option`` is the option that names the file.

    ``project`` is the measured project.

    Raises:
        InputError: if it is a folder, if its own folder is missing or not writable, or if it would replace an input,
            measured files, or files that Hati keeps.
    """
    if output == STDOUT:
        return
    path = Path(output)
    if path.is_file() and (path.name == _PROJECT_FILE or any(_is_same(path, each) for each in inputs)):
        raise _unwritable(path, "it is an input", option)
    _refuse_kept(path, option)
    if path.exists() and not path.is_file() and not path.is_dir():  # a device or a pipe
        return
    reason = ""
    if path.is_dir():
        reason = os.strerror(errno.EISDIR)
    elif not path.parent.is_dir():
        reason = os.strerror(errno.ENOENT)
    elif not os.access(path.parent, os.W_OK):
        reason = os.strerror(errno.EACCES)
    if reason:
        raise _unwritable(path, reason, option)
    source = _source(path, project) if project is not None and path.is_file() else None
    if source is not None:
        exclude = "" if ".." in source.parts else f', or exclude it: [subject] sources = ["!{source}"]'
        raise InputError(
            f"{path} cannot be written: it is a source of the measured project",
            fix=f"name another file by {option}{exclude}",
        )


def _is_same(path: Path, other: Path) -> bool:
    return other.is_file() and path.samefile(other)


def _source(path: Path, project: Path) -> PurePath | None:
    """The path of a source of the measured project, relative to it; None for other files."""
    from hati.project import read_project
    from hati.subject import Revisions, list_sources
    from hati.wiring import sources_of

    try:
        known = read_project(project)
        revisions = Revisions(known.root)
    except InputError:  # nothing is measured then
        return None
    listed = list_sources(revisions.top, revisions.within, sources_of(known))
    if listed.open or path.resolve() not in {revisions.top / file for file in listed.files}:
        return None
    return PurePath(os.path.relpath(path.resolve(), known.root.resolve()))


def _refuse_kept(path: Path, option: str = "--output") -> None:
    """Refuse a store and the other files that Hati keeps for itself, except reports."""
    folders = path.resolve().parent.parts
    if _OWN in folders and folders[folders.index(_OWN) + 1 :][:1] != (_REPORTS,):
        raise _unwritable(path, "that folder is Hati's own", option)
    if path.is_file():
        with suppress(OSError), path.open("rb") as file:
            if file.read(len(_DATABASE)) == _DATABASE:
                raise _unwritable(path, "it is a database", option)


def _unwritable(path: Path, reason: str | None, option: str) -> InputError:
    return InputError(f"{path} cannot be written: {reason}", fix=f"name another file by {option}")


def _replace(path: Path, data: Iterable[bytes]) -> None:
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        with path.open("wb") as file:
            file.writelines(data)
        return
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(data)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def console(*, stderr: bool = False) -> Console:
    """A console for people: as wide as the terminal, or 80 columns without one."""
    from rich.console import Console

    return Console(file=sys.stderr if stderr else sys.stdout, highlight=False)


def say(message: str) -> None:
    """Print a message for people to standard error, so that a result on standard output stays clean.

    Text quoted from programs and files may contain anything: control characters are shown, and have no effect.
    """
    from hati.core.wording import visible

    # a plain print is quick, and nothing in it can go wrong
    print("\n".join(map(visible, message.split("\n"))), file=sys.stderr, flush=True)  # noqa: T201
