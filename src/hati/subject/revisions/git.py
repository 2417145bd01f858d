"""A git repository, with the submodules of its commits; queries change nothing and never prompt."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hati.core import InputError, Revision, RevisionKind, replace
from hati.core.wording import suggestion

_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",  # the user's index is not refreshed
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",  # nothing is fetched
    "LC_ALL": "C.UTF-8",
}


class CommandError(InputError):
    """A program that ended with another status than 0; ``said``: the message is from the program's stderr."""

    said: bool = True


def asked(
    command: Sequence[str], cwd: Path, more: Mapping[str, str] | None = None, timeout: float | None = None
) -> bytes:
    """The output of a program; ``timeout`` in seconds is for programs that ask a server.

    Raises:
        CommandError: where it fails.
        InputError: where it is not installed, or does not end in time.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**own, **_QUIET, **(more or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=timeout,
        )
    except FileNotFoundError:
        raise InputError(f"{command[0]} is not installed", fix=f"install {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise InputError(
            f"{command[0]} {command[1]} has not ended within {timeout:g} s", fix="see whether its server answers"
        ) from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        error = CommandError(f"{command[0]}: {_plain(said[0]) if said else f'exit status {done.returncode}'}")
        error.said = bool(said)
        raise error
    return done.stdout


def _plain(line: str) -> str:
    return line.removeprefix("fatal: ").removeprefix("error: ").removeprefix("svn: ")


def texts(output: bytes, ends: bytes = b"\0") -> list[str]:
    """The non-empty parts of the output, decoded as file names."""
    return [os.fsdecode(part) for part in output.split(ends) if part]


class Submodule(NamedTuple):
    """A submodule's path in a commit, and its commit in another repository."""

    path: str
    commit: str


def repositories(
    submodules: Sequence[Submodule], top: Path, folder: Path, common: Path
) -> Iterator[tuple[Submodule, Path]]:
    """The submodules that are initialised in the user's work tree ``top``, each with its repository.

    ``folder`` has the files of the commit, ``common`` is the repository of the work tree.

    Raises:
        InputError: where a submodule's repository lacks the commit.
    """
    names = _names(folder) if submodules else {}
    for submodule in submodules:
        place = top / submodule.path
        own = common / "modules" / names.get(submodule.path, submodule.path)
        if (place / ".git").exists():
            [printed] = texts(asked(("git", "rev-parse", "--absolute-git-dir"), place), b"\n")
            own = Path(printed)
        if not (own / "objects").is_dir():
            continue
        try:
            asked(("git", "--git-dir", str(own), "cat-file", "-e", f"{submodule.commit}^{{commit}}"), folder)
        except CommandError:
            raise InputError(
                f"the submodule {submodule.path} has no commit {submodule.commit[:12]} here",
                fix=f"git -C {place} fetch",
            ) from None
        yield submodule, own


def _names(folder: Path) -> dict[str, str]:
    """The names of submodules by their paths, from the commit's own ``.gitmodules``."""
    if not (folder / ".gitmodules").is_file():
        return {}
    command = ("git", "config", "--null", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    try:
        entries = texts(asked(command, folder))
    except CommandError:
        return {}
    return {path: key.removeprefix("submodule.").removesuffix(".path") for key, _, path in map(_split, entries)}


def _split(entry: str) -> tuple[str, str, str]:
    return entry.partition("\n")


_PLAIN = (  # whatever the user's configuration, all files of a commit are written, and no program of theirs is started
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.sparseCheckout=false"),
    *("-c", "core.splitIndex=false"),
    *("-c", "submodule.recurse=false"),
)
MAIN_BRANCHES = ("main", "master", "trunk")
_MAIN = ("origin/HEAD", "origin/main", "origin/master", *MAIN_BRANCHES)
_LINK = "160000"
_MOST_COMPARED = 100
_LOG = ("log", "--decorate-refs=refs/tags", "--format=%H %ct %D%x00%s")
_TAG = "tag: "


class Blob(NamedTuple):
    """A file of a commit: its mode, and its content as in a work tree."""

    mode: str
    content: bytes


class GitHistory:
    """The repository around a folder.

    Its revisions are commits, by their full hash. Files are written through a separate index, so that the user's work
    tree, index and list of work trees do not change; shallow clones work too.
    """

    def __init__(self, folder: Path, repository: Path) -> None:
        self.top = folder
        self._repository = repository

    @classmethod
    def around(cls, folder: Path) -> GitHistory | None:
        """The repository of the work tree that a folder is in; None if it is in none.

        Raises:
            InputError: where git refuses to read it.
        """
        command = ["git", "rev-parse", "--show-toplevel", "--absolute-git-dir"]
        try:
            top, repository = texts(asked(command, folder), b"\n")
        except CommandError as error:
            if "must be run in a work tree" in error.message:
                return None
            if "not a git repository" not in error.message:
                raise
            if _is_marked(folder):
                raise InputError(f"git cannot read the repository of {folder}", fix="see `git status` there") from None
            return None
        except InputError as error:
            if _is_marked(folder):
                raise InputError(f"{folder} is in a repository of git, and {error.message}", fix=error.fix) from None
            return None
        return cls(Path(top), Path(repository))

    def find(self, text: str) -> Revision | None:
        """The commit that git finds for a text, or None.

        Raises:
            InputError: where git reports an error, such as an ambiguous name or a broken repository.
        """
        try:
            printed = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
        except CommandError as error:
            if error.said:
                raise
            return None
        [commit] = texts(printed, b"\n")
        [line] = texts(self._git(*_LOG, "-1", commit), b"\n")
        return _commit(line, "" if commit.startswith(text) else text)

    def nearest(self, text: str) -> str:
        """What to write instead of an unknown name."""
        names = texts(self._git("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags"), b"\n")
        nearest = suggestion(text, names) if names else "make a commit first"
        return "; ".join(filter(None, (nearest, self._deepen())))

    def base(self) -> Revision | None:
        """The commit that is checked out; None where there is none yet."""
        return self.find("HEAD")

    def main(self) -> Revision | None:
        """The newest commit of the main branch, if one of the usual names exists."""
        return next((found for name in _MAIN if (found := self.find(name)) is not None), None)

    def main_branch(self) -> str:
        """The name of the main branch: that of ``origin``, else a usual one, else the one that is checked out."""
        remote = self._symbolic("refs/remotes/origin/HEAD").removeprefix("refs/remotes/origin/")
        usual = next(filter(self._is_branch, MAIN_BRANCHES), "")
        return remote or usual or self._symbolic("HEAD").removeprefix("refs/heads/") or MAIN_BRANCHES[0]

    def _symbolic(self, name: str) -> str:
        """The target of a symbolic reference; empty if it is not one."""
        try:
            [found] = texts(self._git("symbolic-ref", "--quiet", name), b"\n")
        except CommandError:
            return ""
        return found

    def _is_branch(self, name: str) -> bool:
        return any(self.find(f"refs/{place}/{name}") for place in ("heads", "remotes/origin"))

    def merge_base(self, first: Revision, second: Revision) -> Revision:
        """The best common ancestor.

        Raises:
            InputError: where there is none, or a shallow clone does not reach it.
        """
        try:
            [commit] = texts(self._git("merge-base", first.id, second.id), b"\n")
        except CommandError:
            raise InputError(
                f"{first} and {second} have no common ancestor here", fix=self._deepen() or "name a reference"
            ) from None
        found = self.find(commit)
        assert found is not None
        return found

    def before(self, revision: Revision) -> Revision:
        """The first parent.

        Raises:
            InputError: where it has none, or a shallow clone does not reach it.
        """
        found = self.find(f"{revision.id}^")
        if found is None:
            raise InputError(f"{revision} has no parent here", fix=self._deepen() or "name a reference")
        return replace(found, name="")

    def between(self, first: Revision, last: Revision) -> Sequence[Revision]:
        """Commits after ``first`` up to ``last``, by first parents, oldest first.

        Raises:
            InputError: where ``first`` is not an ancestor of ``last`` by first parents.
        """
        line = (*_LOG, "--first-parent", "--reverse")
        printed = texts(self._git(*line, f"{first.id}..{last.id}"), b"\n")
        found = [_commit(text) for text in printed]
        if not found:
            raise InputError(f"{last} does not come after {first}", fix="exchange them, or name others")
        oldest = found[0].id
        parents = texts(self._git("rev-list", "--parents", "-1", oldest), b"\n")[0].split()[1:]
        if parents[:1] != [first.id]:
            raise InputError(
                f"{last} does not come from {first} by first parents",
                fix=self._deepen() or "name a commit of the same branch, such as their merge base",
            )
        return found

    def inside(self, first: Revision, last: Revision) -> Sequence[str]:
        """The ids of all commits that are reachable from ``last`` and not from ``first``."""
        return texts(self._git("rev-list", f"{first.id}..{last.id}"), b"\n")

    def contains(self, whole: Revision, part: str) -> bool:
        """Whether the commit with the id ``part`` is a commit itself or an ancestor of it."""
        try:
            self._git("merge-base", "--is-ancestor", part, whole.id)
        except CommandError:
            return False
        return True

    def differing(self, revision: str, within: PurePath) -> dict[Path, Blob | None] | None:
        """The files in a folder of the work tree that a commit has otherwise, as it has them; None where it lacks them.

        None for more than 100 files, or if a submodule is among them.
        """
        paths = self._differing_paths(PurePath(), revision, "--", f":(literal){within}")
        if len(paths) > _MOST_COMPARED:
            return None
        lines = (line.partition("\t") for line in texts(self._git("ls-tree", "-r", "-z", revision)))
        modes = {path: about.split(" ")[0] for about, _, path in lines}
        if any(modes.get(path) == _LINK or (self.top / path).is_dir() for path in paths):
            return None
        return {Path(path): self._blob(revision, path, modes[path]) if path in modes else None for path in paths}

    def changed(
        self, first: str, last: str | None, within: PurePath, patterns: Sequence[str]
    ) -> tuple[str, ...] | None:
        """The paths that match and differ between two commits, or between a commit and the work tree without ``last``.

        ``patterns`` are relative to the folder ``within``, as the paths that are returned; ``!`` excludes. None if the
        repository no longer has one of the commits.
        """
        commits = (first,) if last is None else (first, last)
        try:
            found = self._differing_paths(within, *commits, "--", *_pathspecs(patterns))
        except CommandError:
            if all(map(self._has, commits)):
                raise
            return None
        return tuple(PurePath(path).relative_to(within).as_posix() for path in found)

    def untracked(self, within: PurePath, patterns: Sequence[str]) -> tuple[Path, ...]:
        """The files of the work tree that match, as in ``changed``, and are neither tracked nor ignored."""
        words = ("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", *_pathspecs(patterns))
        return tuple(map(Path, texts(asked((*self._work_tree, *words), self.top / within))))

    def _has(self, commit: str) -> bool:
        try:
            self._git("cat-file", "-e", f"{commit}^{{tree}}")
        except CommandError:
            return False
        return True

    @property
    def _work_tree(self) -> tuple[str, ...]:
        """The command of git that can be run in any folder of the work tree."""
        return ("git", "--git-dir", str(self._repository), "--work-tree", str(self.top))

    def _differing_paths(self, within: PurePath, *words: str) -> list[str]:
        """The paths that differ, relative to the top; the pathspecs in ``words`` are relative to ``within``."""
        with TemporaryDirectory() as folder:  # diff refreshes the index
            index = Path(folder) / "index"
            with suppress(FileNotFoundError):  # there is none in a new repository
                # the time of the index tells git which files may have changed in the second in which it was written
                shutil.copy2(self._repository / "index", index)
            diff = ("-c", "diff.relative=false", "diff", "--name-only", "--no-renames", "-z")
            return texts(asked((*self._work_tree, *diff, *words), self.top / within, {"GIT_INDEX_FILE": str(index)}))

    def _blob(self, revision: str, path: str, mode: str) -> Blob:
        return Blob(mode, self._git("cat-file", "--filters", f"{revision}:{path}"))

    def put(self, revision: str, folder: Path) -> None:
        """Write the files of a commit, and of its submodules that are initialised, into an empty folder.

        Raises:
            InputError: where a commit is missing.
            OSError: where the files cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        index = folder.with_name(f"{folder.name}.index")
        try:
            own = {"GIT_INDEX_FILE": str(index)}
            tree = ("--git-dir", str(self._repository), "--work-tree", str(folder))
            asked(("git", *tree, *_PLAIN, "read-tree", "--reset", "-u", revision), folder, own)
            entries = texts(asked(("git", *tree, "ls-files", "--stage", "-z"), folder, own))
        finally:
            index.unlink(missing_ok=True)
        links = [_link(entry) for entry in entries if entry.startswith(_LINK)]
        for submodule, repository in repositories(links, self.top, folder, self._common()):
            GitHistory(self.top / submodule.path, repository).put(submodule.commit, folder / submodule.path)

    def _common(self) -> Path:
        [printed] = texts(self._git("rev-parse", "--git-common-dir"), b"\n")
        return (self.top / printed).resolve()

    def _deepen(self) -> str:
        shallow = texts(self._git("rev-parse", "--is-shallow-repository"), b"\n") == ["true"]
        return "this clone is shallow: git fetch --unshallow" if shallow else ""

    def _git(self, *words: str) -> bytes:
        return asked(("git", "--git-dir", str(self._repository), *words), self.top)


def _pathspecs(patterns: Sequence[str]) -> Iterator[str]:
    for pattern in patterns:
        exclude = ",exclude" if pattern.startswith("!") else ""
        yield f":(glob{exclude}){pattern.removeprefix('!')}"


def _is_marked(folder: Path) -> bool:
    """Whether there is a repository around a folder, readable or not."""
    return any((place / ".git").exists() for place in (folder, *folder.parents))


def _commit(text: str, name: str = "") -> Revision:
    """The commit in a line of the log."""
    about, _, title = text.partition("\0")
    commit, seconds, decorated = about.split(" ", 2)
    tags = [each.removeprefix(_TAG) for each in decorated.split(", ") if each.startswith(_TAG)]
    made = datetime.fromtimestamp(int(seconds), UTC)
    return Revision(commit, RevisionKind.GIT, name, title, made, tag=next(iter(tags), ""))


def _link(entry: str) -> Submodule:
    """The submodule in a line ``mode commit stage<tab>path``."""
    about, _, path = entry.partition("\t")
    return Submodule(path, about.split(" ")[1])
