"""Folders next to ``hati.toml``: Hati's own, with work folders, builds and redirected output, and the subject's files.

In a work tree of git or svn the subject's files are the tracked files, and untracked files that the project names;
elsewhere all files except hidden folders, ``__pycache__`` and ``*.pyc``. Hati's own files are never included: its
folder, outputs written on request, stores, and ``hati.toml``, whose relevant content is in a study's parameters.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import shutil
import stat
import subprocess
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import NamedTuple

from msgspec import Struct

from hati.core import InputError, MeasurementError, digest
from hati.file_errors import FULL, free_text

_TAG = "CACHEDIR.TAG"
_TAGGED = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by hati, which empties this folder.\n"
"""The tag of the Cache Directory Tagging Standard, so that backups skip the folder too."""
_IGNORED = "# Made by hati: nothing in this folder is to be under version control.\n*\n"


def make_own(root: Path) -> None:
    """Create Hati's folder, ignored by git, completely or not at all; an existing one is not changed.

    Only an empty list of ignored files, left by a full disk, is written again.

    Raises:
        OSError: where it cannot be created.
    """
    own = root / ".hati"
    ignored = own / ".gitignore"
    try:
        own.mkdir()
    except FileExistsError:
        with suppress(OSError):
            if ignored.stat().st_size == 0:
                ignored.write_text(_IGNORED, encoding="utf-8")
        return
    try:
        ignored.write_text(_IGNORED, encoding="utf-8")
    except OSError:
        with suppress(OSError):
            ignored.unlink(missing_ok=True)
            own.rmdir()
        raise


def lock_file(root: Path) -> Path:
    """The lock file in Hati's folder, which is created.

    Raises:
        MeasurementError: where the folder cannot be created.
    """
    own = root / ".hati"
    try:
        make_own(root)
        if not own.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError as error:
        raise _unwritable(own, error) from None
    return own / "lock"


def _unwritable(folder: Path, error: OSError) -> MeasurementError:
    reason = f"{error.strerror}{free_text(folder) if error.errno in FULL else ''}"
    return MeasurementError(f"cannot write to {folder}: {reason}", fix=remedy(error))


def remedy(error: OSError) -> str:
    """The fix if hati cannot write into its folder.

    >>> remedy(OSError(errno.ENOSPC, "No space left on device"))
    'free some space'
    """
    if error.errno in FULL:
        return "free some space"
    if error.errno == errno.EROFS:
        return "copy the project to where hati may write"
    return "let hati write there, or copy the project"


def work_root(root: Path) -> Path:
    """The folder of the runs' work folders: on the file system of the project, not in memory."""
    return root / ".hati" / "work"


def shared_work_root(root: Path) -> Path:
    """The folder of work folders for a user who may not enter the project's folder; its name is always the same."""
    return Path("/var/tmp") / f"hati-work-{digest(str(root), 12)}"  # noqa: S108 - only root makes it, for itself


def log_root(root: Path) -> Path:
    """The folder of the servers' logs."""
    return root / ".hati" / "logs"


def make_shared(folder: Path) -> None:
    """Create the folder for another user's work; an existing one must belong to this user.

    Raises:
        OSError: where it belongs to another user, or others may write to it.
    """
    folder.mkdir(mode=0o711, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(errno.EPERM, "it is not a folder that only this user may write to", str(folder))


def build_root(root: Path) -> Path:
    """The folder of the builds."""
    return root / ".hati" / "builds"


def tree_root(root: Path) -> Path:
    """The folder of the files of revisions while a campaign needs them."""
    return root / ".hati" / "trees"


def tidy(root: Path) -> None:
    """Create Hati's folders, and remove the work folders and trees of campaigns that were killed.

    Raises:
        MeasurementError: where nothing can be written, or a folder has files that Hati did not create.
    """
    for folder in (work_root(root), build_root(root), tree_root(root)):
        try:
            make_own(root)
            make_disposable(folder)
            probe = folder / ".writable"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise _unwritable(folder, error) from None
    clear(work_root(root))
    discard(tree_root(root))
    if (shared := shared_work_root(root)).exists() and os.geteuid() == 0:
        remove(shared)


def make_disposable(folder: Path) -> None:
    """Create a folder whose content Hati may delete, and tag it as such.

    An existing one is tagged only if it is empty, or an earlier Hati created it: a link may lead to anybody's files.

    Raises:
        MeasurementError: where it has files that Hati did not create.
        OSError: where it cannot be created.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if _is_disposable(folder):
        return
    names = sorted(entry.name for entry in folder.iterdir() if entry.name != _TAG)
    if names and not _is_of_earlier_hati(folder):
        raise MeasurementError(
            f"{folder} holds files that hati did not make, such as `{names[0]}`, and hati empties this folder",
            fix="move them away, or let the link lead to an empty folder" if _is_linked(folder) else "move them away",
        )
    (folder / _TAG).write_text(_TAGGED, encoding="ascii")


def clear(folder: Path) -> None:
    """Remove the content of a folder if its tag permits it."""
    if _is_disposable(folder):
        for entry in folder.iterdir():
            if entry.name != _TAG:
                remove(entry)


def discard(folder: Path) -> None:
    """`clear` a folder, and remove the folder too; a link is kept."""
    clear(folder)
    if _is_disposable(folder) and not folder.is_symlink():
        remove(folder)


def _is_disposable(folder: Path) -> bool:
    try:
        return (folder / _TAG).read_text(encoding="ascii", errors="replace") == _TAGGED
    except OSError:
        return False


def _is_of_earlier_hati(folder: Path) -> bool:
    """Whether an earlier Hati, which did not tag, created a folder: not a link, and in a folder that Hati created."""
    try:
        listed = (folder.parent / ".gitignore").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return listed == _IGNORED and not _is_linked(folder)


def _is_linked(folder: Path) -> bool:
    return folder.is_symlink() or folder.parent.is_symlink()


def remove(path: Path) -> None:
    """Remove a file, or a folder with its content, including write-protected folders.

    Files that cannot be removed are kept: the next start of hati tries again.
    """
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except OSError:
        _open_up(path)
        shutil.rmtree(path, ignore_errors=True)


def _open_up(top: Path) -> None:
    """Make a folder and all folders below it writable by the user."""
    ahead = [top]
    while ahead:
        folder = ahead.pop()
        with suppress(OSError):
            folder.chmod(stat.S_IRWXU)
            with os.scandir(folder) as entries:
                ahead += [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]


_LIST = Path(".hati") / "outputs"
_LINE = re.compile(r"(?:(?:[0-9a-f]{64}|store)  )?(.+)")
"""Earlier versions wrote a hash, or ``store``, before the path."""


def remember_output(file: Path) -> None:
    """Record a file as Hati's own, for the project whose folder contains it, if any."""
    file = file.resolve()
    root = next((folder for folder in file.parents if (folder / ".hati").is_dir()), None)
    if root is None or not file.is_file() or file.is_relative_to(root / ".hati"):
        return
    path = file.relative_to(root).as_posix()
    if Path(path) not in outputs(root):
        with suppress(OSError), (root / _LIST).open("a", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(f"{path}\n")


def remember_redirected() -> None:
    """Record the files into which a shell redirects output as Hati's own."""
    for descriptor in (1, 2):
        with suppress(OSError):
            remember_output(Path(f"/proc/self/fd/{descriptor}"))


def outputs(root: Path) -> frozenset[Path]:
    """The recorded files, relative to the project's folder."""
    try:
        lines = (root / _LIST).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return frozenset()
    return frozenset(Path(match[1]) for match in map(_LINE.fullmatch, lines) if match)


_PASSED_OVER = {".hati", ".git", ".svn", "__pycache__"}
_PROJECT_FILE = "hati.toml"
_HERE = PurePath()
_UNTRACKED = "?"
_APART = re.compile(r"""[\s"'=,@:;()\[\]{}<>|&#]+""")
"""The separators between words of a project file, and between parts of an argument."""


class Sources(Struct, frozen=True):
    """A project's rules for its source files.

    ``patterns`` are paths and globs below its folder; a pattern that begins with ``!`` excludes files. ``named`` are
    paths in its project file: untracked files with these paths, and in these folders, are included. ``own`` are the
    resolved paths of files that Hati keeps.
    """

    patterns: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    own: frozenset[Path] = frozenset()

    @classmethod
    def of(cls, patterns: Sequence[str], text: str, own: Iterable[Path] = ()) -> Sources:
        """The rules of a project whose file has this text; paths among its words are normalised.

        >>> sorted(Sources.of((), 'command = ["./run.sh", "--config=a.json,b/"]').named & {"run.sh", "a.json", "b"})
        ['a.json', 'b', 'run.sh']
        """
        words = _APART.split(text)
        named = frozenset(posixpath.normpath(word) for word in words if word)
        return cls(tuple(patterns), named, frozenset(file.resolve() for file in own))

    @property
    def wanted(self) -> tuple[str, ...]:
        """The patterns of included files."""
        return tuple(pattern for pattern in self.patterns if not pattern.startswith("!"))

    @property
    def unwanted(self) -> tuple[str, ...]:
        """The patterns of excluded files."""
        return tuple(pattern[1:] for pattern in self.patterns if pattern.startswith("!"))


ANY = Sources()
"""The rules of a folder without a project file."""


class Listed(NamedTuple):
    """The files that make up a revision, and untracked files that do not; sorted, relative to the folder.

    ``open`` is True if neither version control nor the project lists the files: a new one may be a source or a result.
    """

    files: list[Path]
    untracked: list[Path]
    open: bool


class _Tracked(NamedTuple):
    files: list[Path]
    untracked: list[Path]


def list_sources(top: Path, within: PurePath = _HERE, sources: Sources = ANY) -> Listed:
    """List the files below ``top`` that belong to the revision of the project ``within`` it; links count as files.

    Raises:
        InputError: for a malformed pattern.
    """
    project = top / within
    wanted = {Path(within / path) for path in _matching(project, sources.wanted)}
    found = _git_files(top)
    found = found if found.files else _svn_files(top)
    whole = not found.files and not sources.wanted
    untracked = _all_files(top) if whole else found.untracked
    named = {path for path in untracked if _is_named(path, within, sources.named)}
    written = {_normal(within / path) for path in outputs(project)} - named
    apart = _below(top, sources.own) | {_normal(within / _PROJECT_FILE)}
    apart |= {Path(within / path) for path in _matching(project, sources.unwanted)}
    files = {*found.files, *wanted, *named, *((set(untracked) - written) if whole else ())} - apart
    return Listed(_sorted(files), _sorted({*found.untracked} - files - written - apart), whole)


def _sorted(files: Iterable[Path]) -> list[Path]:
    """The files in order, without internal files of Hati, version control and Python."""
    return sorted(path for path in files if _PASSED_OVER.isdisjoint(path.parts))


def _is_named(path: Path, within: PurePath, named: Collection[str]) -> bool:
    """Whether the project's file mentions a path, or a folder that contains it."""
    inner = PurePath(posixpath.relpath(path.as_posix(), within.as_posix()))
    return any(place.as_posix() in named for place in (inner, *inner.parents) if place != _HERE)


def _normal(path: PurePath) -> Path:
    return Path(posixpath.normpath(path.as_posix()))


def _below(top: Path, files: Iterable[Path]) -> set[Path]:
    whole = top.resolve()
    return {file.relative_to(whole) for file in files if file.is_relative_to(whole)}


def _matching(root: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """The files below a folder that match a pattern, or are in a matching folder."""
    for pattern in patterns:
        try:
            matched = list(root.glob(pattern))
        except (ValueError, NotImplementedError) as error:  # pathlib raises the latter for an absolute pattern
            raise InputError(f"sources: {pattern!r} is not a pattern of files: {error}") from None
        for path in matched:
            inner = path.relative_to(root)
            if path.is_dir() and not path.is_symlink():
                yield from (inner / each for each in _all_files(path))
            elif _is_file(path):
                yield inner


def _git_files(root: Path) -> _Tracked:
    """The files that git lists below a folder; empty without git or a repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
    except FileNotFoundError:
        return _Tracked([], [])
    files, untracked = list[Path](), list[Path]()
    for entry in filter(None, listed.stdout.split(b"\0") if listed.returncode == 0 else ()):
        tag, _, name = os.fsdecode(entry).partition(" ")
        path = Path(name)
        if (root / path).is_dir() and not (root / path).is_symlink():
            inner = _submodule_files(root / path) if tag != _UNTRACKED else []
            files += [path / each for each in inner]
        elif _is_file(root / path):
            (untracked if tag == _UNTRACKED else files).append(path)
    return _Tracked(list(dict.fromkeys(files)), untracked)


def _submodule_files(folder: Path) -> list[Path]:
    """A submodule's files; in one that is not initialised, git would list those of the surrounding repository."""
    return list_sources(folder).files if (folder / ".git").exists() else _all_files(folder)


def _svn_files(root: Path) -> _Tracked:
    """The files that svn lists below a folder; empty without svn or a working copy."""
    if not any((place / ".svn").is_dir() for place in (root.resolve(), *root.resolve().parents)):
        return _Tracked([], [])
    from hati.subject.revisions.svn import statuses

    files, untracked = list[Path](), list[Path]()
    try:
        for path, item in statuses(root):
            if (root / path).is_dir() and not (root / path).is_symlink():
                if item == "unversioned":
                    untracked += [path / each for each in _all_files(root / path)]
                elif item == "external":
                    files += [path / each for each in list_sources(root / path).files]
            elif _is_file(root / path):
                (untracked if item == "unversioned" else files).append(path)
    except InputError:
        return _Tracked([], [])
    return _Tracked(files, untracked)


def _all_files(root: Path) -> list[Path]:
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _PASSED_OVER]
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        here = [Path(folder) / name for name in (*names, *links) if not name.endswith(".pyc")]
        files += [path.relative_to(root) for path in here if _is_file(path)]
    return files


def _is_file(path: Path) -> bool:
    """Whether a path is an existing file or link, and not a socket, pipe or device."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
