"""Digests of the requirements of a tree, including the content of files that they name on this machine.

Project files, locks and requirements files are read.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import unquote

from msgspec import Struct

from hati.core import InputError, Place, digest
from hati.python.installing import LOCKS, OTHERS, TODAY, InstallationError, RefusedError, installed, packages, part

_MADE = {"build", "dist", "node_modules", "__pycache__"}
_MADE_KINDS = (".so", ".pyd", ".dll", ".dylib", ".o", ".obj", ".a", ".lib", ".pyc", ".pyo", ".egg", ".egg-info", ".log")
_MARKS = {"pyvenv.cfg", "CACHEDIR.TAG"}
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}


def content(tree: Path, place: Path) -> dict[str, str]:
    """A digest of an archive or of a folder's sources, by its path from the tree; empty for the tree itself.

    Raises:
        OSError: for a file or a folder that cannot be read.
    """
    place = normal(place)
    if place == normal(tree) or not is_there(place):
        return {}
    files = [place] if is_file(place) else sorted(_sources(place))
    whole = {os.path.relpath(file, place): _hash(file) for file in files}
    return {os.path.relpath(place, tree): digest(whole)}


def normal(path: Path) -> Path:
    """The path with ``..`` resolved."""
    return Path(os.path.normpath(path))


def is_there(place: Path) -> bool:
    """Whether a path exists.

    Raises:
        OSError: where that cannot be determined.
    """
    return _mode(place) is not None


def is_file(place: Path) -> bool:
    """Whether a path is an existing file.

    Raises:
        OSError: where that cannot be determined.
    """
    return stat.S_ISREG(_mode(place) or 0)


def walked(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Walk a folder from the top, as ``os.walk``; nothing for a path that is not a folder.

    Raises:
        OSError: for a folder that cannot be listed.
    """
    if stat.S_ISDIR(_mode(folder) or 0):
        yield from ((Path(place), folders, names) for place, folders, names in os.walk(folder, onerror=_refused))


def _refused(error: OSError) -> NoReturn:
    raise error


def _mode(place: Path) -> int | None:
    try:
        return place.stat().st_mode
    except ValueError:  # no file can have such a name
        return None
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    """The files that determine what a folder installs: all except hidden ones, builds, logs and environments."""
    for here, folders, names in walked(folder):
        if here != folder and not _MARKS.isdisjoint(names):
            folders.clear()
            continue
        folders[:] = [name for name in folders if _is_source(name)]
        yield from (here / name for name in names if _is_source(name) and is_file(here / name))


def _is_source(name: str) -> bool:
    return not (name.startswith(".") or name in _MADE or name.endswith(_MADE_KINDS))


_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def commits(tree: Path, place: Path, revision: str) -> dict[str, str]:
    """A digest of the commits of a branch, a tag, a ref or ``HEAD``, by the repository's path from the tree.

    Empty for a commit, which never changes, for an unknown revision, for a repository that does not exist, and
    for the tree itself.

    Raises:
        InputError: where git cannot read it.
        OSError: where it cannot be determined whether it exists.
    """
    place = normal(place)
    if _COMMIT.fullmatch(revision) or "\0" in revision or place == normal(tree) or not is_there(place):
        return {}
    names = {revision, f"refs/heads/{revision}", f"refs/tags/{revision}"}
    named_paths = [line for line in _resolved(place, revision).splitlines() if line.partition("\t")[2] in names]
    return {f"{os.path.relpath(place, tree)}@{revision}": digest(named_paths)}


def _resolved(repository: Path, revision: str) -> str:
    command = ["git", "ls-remote", "--", str(repository), revision]
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command, env={**own, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise InputError(f"git cannot read {repository}: it is not installed", fix="install git") from None
    except OSError as error:
        raise InputError(
            f"git cannot be started to read {repository}: {error.strerror}", fix="see whether `git --version` works"
        ) from None
    if done.returncode:
        lines = [*done.stderr.decode("utf-8", "replace").splitlines(), "it printed no error message"]
        said = lines[0].removeprefix("fatal: ")
        raise InputError(f"git cannot read {repository}: {said}", fix=f"see what `git ls-remote {repository}` says")
    return done.stdout.decode("utf-8", "replace")


ARCHIVES: Final = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2")
"""The suffixes of installable archives."""

_SHORT = {"-r": "--requirement", "-c": "--constraint", "-e": "--editable", "-f": "--find-links", "-i": "--index-url"}
_LONG = (*_SHORT.values(), "--extra-index-url")
_FURTHER = ("--requirement", "--constraint")
_COMMENT = re.compile(r"(^|\s)#.*")
_BEFORE_OPTION = re.compile(r"(?:^|\s)(?=-)")
_OPTION = re.compile(r"(-[rcefi]|--[a-z-]+(?=[\s=]))[\s=]*(.*)")
_NAME = re.compile(r"^[\w.-]+\s*(?:\[[^\]]*\]\s*)?@\s*")
_PLACE = re.compile(r"\"([^\"]+)\"|'([^']+)'|([^;]+)")
_URL = re.compile(r"file:(?://(?:localhost(?=/))?)?")
_REPOSITORY = "git+file:"
_FRAGMENT = re.compile(r"#\w+=.*")


class PathKind(StrEnum):
    """The kind of a path's target."""

    REQUIREMENTS = "further requirements or constraints"
    CONTENT = "what is installed: a file or a folder"
    REPOSITORY = "a git repository, of which a revision is installed"


class Named(Struct, frozen=True):
    """A path as written in a file, and the kind of its target; for a repository, the requested revision too."""

    path: str
    kind: PathKind = PathKind.CONTENT
    revision: str = "HEAD"


def named(text: str) -> Iterator[Named]:
    """The paths in lines of a requirements file, each with its options."""
    for raw in text.replace("\\\n", " ").splitlines():
        for entry in _BEFORE_OPTION.split(_COMMENT.sub("", raw).strip()):
            option = _OPTION.match(entry)
            place = _PLACE.match(_NAME.sub("", option[2] if option else entry, count=1))
            path = place[place.lastindex or 0].strip() if place else ""
            if path and option:
                yield from _of_option(option[1], path)
            elif path and _is_path(path):
                yield _installed(path)


def plain(path: str) -> str:
    """The path alone: that of a URL, and without the requested extras."""
    place = _FRAGMENT.sub("", path)
    while place.endswith("]") and "[" in place:
        place = place[: place.rindex("[")].rstrip()
    url = _URL.match(place)
    return unquote(place[url.end() :]) if url else place


def _of_option(option: str, path: str) -> Iterator[Named]:
    """The path of an option; none if the option takes no path. Long options may be abbreviated, as in pip."""
    for name in _LONG:
        if name.startswith(_SHORT.get(option, option)):
            yield Named(plain(path), PathKind.REQUIREMENTS) if name in _FURTHER else _installed(path)


def _installed(path: str) -> Named:
    if not path.startswith(_REPOSITORY):
        return Named(plain(path))
    url = path.removeprefix("git+").partition("#")[0]
    place, at, revision = url.rpartition("@")
    return Named(plain(place), PathKind.REPOSITORY, revision) if at else Named(plain(url), PathKind.REPOSITORY)


def _is_path(text: str) -> bool:
    return text.startswith((_REPOSITORY, "file:", ".", "/")) or (
        "://" not in text and ("/" in text or text.endswith(ARCHIVES))
    )


_UNREAD = frozenset(
    {"--cache-dir", "--log", "--target", "-t", "--prefix", "--root", "--src", "--report", "--python", "--cert"}
)


def contents(tree: Path, named_paths: Iterable[Named]) -> dict[str, str]:
    """Digests of the files that a tree names, and transitively of those in requirements files, by path from the tree.

    Missing files, the tree itself, and commits, which never change, have no digest.

    Raises:
        InputError: for a repository that git cannot read.
        OSError: for other files that cannot be read.
    """
    found: dict[str, str] = {}
    read: set[Path] = set()
    left = [(tree, each) for each in named_paths]
    while left:
        base, each = left.pop()
        place = normal(base / each.path)
        match each.kind:
            case PathKind.CONTENT:
                found |= content(tree, place)
            case PathKind.REPOSITORY:
                found |= commits(tree, place, each.revision)
            case PathKind.REQUIREMENTS if place not in read and is_file(place):
                text = place.read_text(errors="replace")
                read.add(place)
                found[os.path.relpath(place, tree)] = digest(text)
                left += [(start, further) for further in named(text) for start in _starts(tree, place, further)]
    return found


def _starts(tree: Path, file: Path, each: Named) -> set[Path]:
    """The folders to which a path in a file may be relative: the file's, and the tree unless it is a further file."""
    return {file.parent} if each.kind is PathKind.REQUIREMENTS else {file.parent, tree}


def mentioned(words: Iterable[str]) -> list[str]:
    """Digests of the absolute paths in the words of a command, as in ``--find-links=/srv/wheels``, in no order.

    Words are read as lines of requirements files; in addition, the whole word, or the part after ``=``, can be a path.

    Raises:
        InputError: for a file, a folder or a repository that cannot be read.
    """
    found: dict[str, str] = {}
    for each in (each for word in _read(words) for each in _named_in(word) if each.path.startswith("/")):
        try:
            found |= contents(Path("/"), [_as_it_is(each)])
        except OSError as error:
            raise InputError(
                f"{error.filename or each.path} cannot be read: {error.strerror}", fix="make it readable"
            ) from None
    return sorted(found.values())


def _read(words: Iterable[str]) -> Iterator[str]:
    """The words without options for output or unrelated to installation, and without their values."""
    before = ""
    for word in words:
        if not _UNREAD.intersection((before, word.partition("=")[0])):
            yield word
        before = word


def _named_in(word: str) -> Iterator[Named]:
    yield Named(plain(word if word.startswith("/") else word.partition("=")[2]))
    yield from named(word)


def _as_it_is(each: Named) -> Named:
    """The path as a requirements file, unless it is an archive: its option may be in another word."""
    path = Path(each.path)
    if each.kind is PathKind.REPOSITORY or path.name.endswith(ARCHIVES) or not is_file(path):
        return each
    return Named(each.path, PathKind.REQUIREMENTS)


_PLACES = {"path", "editable", "directory", "virtual", "url", "find-links", "index-url", "extra-index-url"}
_REVISIONS = ("resolved_reference", "commit-id", "revision", "rev", "tag", "branch", "ref")


def tabled(value: object) -> Iterator[Named]:
    """The paths in a value from a TOML file, below keys for places, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from tabled(each)
    elif isinstance(value, dict):
        repository = _repository(value)
        if repository:
            yield from _places(
                repository.partition("#")[0].partition("?")[0], PathKind.REPOSITORY, _asked(value, repository)
            )
        for key, each in value.items():
            if key in _PLACES and not repository:
                yield from _places(each)
            yield from tabled(each)


def texts(value: object) -> Iterator[str]:
    """The texts in a value from a TOML file, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def _places(value: object, kind: PathKind = PathKind.CONTENT, revision: str = "HEAD") -> Iterator[Named]:
    """The paths in a value, without remote addresses."""
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and "://" not in (path := plain(text)):
            yield Named(path, kind, revision)


def _repository(table: Mapping[str, Any]) -> str:
    """The URL of a table's git repository; empty without one."""
    found = table.get("git") or (table.get("type") == "git" and (table.get("url") or table.get("path")))
    return found if isinstance(found, str) else ""


def _asked(table: Mapping[str, Any], url: str) -> str:
    """The requested revision of a repository: the commit if it is given."""
    asked = (url.partition("#")[2], *(table.get(key) for key in _REVISIONS))
    return next((text for text in asked if text and isinstance(text, str)), "HEAD")


Shape = tuple[str, type, type | None]
"""The shape of a part: its dotted keys, its type, and the type of its elements if they must have one."""

PROJECT: Final[tuple[Shape, ...]] = (
    ("project", dict, None),
    ("project.dependencies", list, str),
    ("project.dynamic", list, str),
    ("project.requires-python", str, None),
    ("project.optional-dependencies", dict, list),
    ("build-system", dict, None),
    ("build-system.requires", list, str),
    ("dependency-groups", dict, list),
    ("tool", dict, None),
    *((f"tool.{name}", dict, None) for name in ("flit", "hatch", "poetry", "setuptools", "uv")),
    *((f"tool.poetry.{key}", dict, None) for key in ("dependencies", "dev-dependencies", "extras")),
    ("tool.poetry.group", dict, dict),
    ("tool.uv.sources", dict, None),
    ("tool.setuptools.dynamic", dict, None),
    ("tool.hatch.metadata", dict, None),
    ("tool.flit.metadata", dict, None),
)
LOCK: Final[tuple[Shape, ...]] = (("package", list, dict), ("packages", list, dict))

_TYPE_NAMES: Final[Mapping[type, str]] = {dict: "a table", list: "an array", str: "a text"}


def parsed(file: Path, shapes: tuple[Shape, ...], called: str) -> dict[str, Any] | None:
    """The content of an existing file; None where it is not valid TOML.

    Raises:
        InputError: where a part has another shape; ``called`` is the name of the file in the message.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8", errors="replace"))
    except ValueError:
        return None
    for keys, kind, inner in shapes:
        value = part(data, keys)
        if value is not None and not isinstance(value, kind):
            raise _wrong(called, f"{keys} is {value!r}, where {_TYPE_NAMES[kind]} belongs")
        if inner is not None and (odd := [each for each in _within(value) if not isinstance(each, inner)]):
            raise _wrong(called, f"{keys} holds {odd[0]!r}, where {_TYPE_NAMES[inner]} belongs")
    return data


def _within(value: Any) -> list[Any]:
    return [*value.values()] if isinstance(value, dict) else [*(value or ())]


def _wrong(called: str, message: str) -> InputError:
    return InputError(message, place=Place(called), fix=f"correct it; else {TODAY}")


_PROJECT, _SETUP, _OPTIONS = "pyproject.toml", "setup.py", "setup.cfg"
_REQUIREMENTS = "requirements"
_NEEDED = "install_requires"
_OWN = ("editable", "virtual", "directory")
_STATING = ("project", "build-system", "dependency-groups", "tool.poetry", "tool.flit.metadata")
_COUNTED = (
    *(f"project.{key}" for key in ("dependencies", "requires-python", "optional-dependencies", "dynamic")),
    *("build-system", "dependency-groups", "tool.uv"),
    *(f"tool.poetry.{key}" for key in ("dependencies", "dev-dependencies", "group", "extras", "source")),
    *("tool.poetry.package-mode", "tool.pdm.dev-dependencies", "tool.hatch.metadata"),
    *("tool.flit.metadata.requires", "tool.flit.metadata.requires-extra"),
    *("tool.setuptools.dynamic.dependencies", "tool.setuptools.dynamic.optional-dependencies"),
)
_ALONG = ("tool.uv", *(f"tool.poetry.{key}" for key in ("dependencies", "dev-dependencies", "group", "source")))
_LISTED = (
    *("project.dependencies", "project.optional-dependencies", "dependency-groups", "build-system.requires"),
    *(f"tool.uv.{key}-dependencies" for key in ("constraint", "override", "build-constraint", "dev", "extra-build")),
    *("tool.pdm.dev-dependencies", "tool.flit.metadata.requires", "tool.flit.metadata.requires-extra"),
)
_READ = re.compile(r"[\w./-]+\.(?:txt|in)\b")
_ABOUT = re.compile("readme|licen[cs]e|change|history|news|authors|manifest|version", re.IGNORECASE)


def declared(tree: Path, of: str = "") -> str | None:
    """A hash of the requirements in a tree's locks, requirements files and project file; None if it has none of these.

    It covers the contents of all files that these name. The project's own name and version do not count, so that a
    release alone does not change the environment. A file that is not valid TOML counts by its bytes: installing from it
    reports the error. Errors name the tree ``of``, or its path.

    Raises:
        InputError: for a malformed part of a file, or a file, a folder or a repository that cannot be read.
    """
    try:
        said = {name: found for name, found in _said(tree, of) if found is not None}
    except OSError as error:
        where = Place(_called(tree, os.path.relpath(error.filename or tree, tree), of))
        raise InputError(f"it cannot be read: {error.strerror}", place=where, fix="make it readable") from None
    return digest(said) if said else None


def validate_installable(tree: Path, of: str) -> None:
    """Check that the requirements of the tree ``of`` a revision can be installed, as far as known before trying.

    Raises:
        InputError: where they are in a format that Hati does not install.
    """
    try:
        installed(tree)
    except RefusedError as error:
        raise InputError(f"{of} has no environment of its own: {error}", fix=TODAY) from None
    except InstallationError:  # installing reports it
        return


def _said(tree: Path, of: str) -> Iterator[tuple[str, object]]:
    files = {*tree.glob(f"{_REQUIREMENTS}*.txt"), *_below(tree / _REQUIREMENTS)}
    for name in LOCKS:
        if (lock := tree / name).is_file():
            data = parsed(lock, LOCK, _called(tree, name, of))
            yield name, _text(lock) if data is None else _locked(data)
            yield from contents(tree, tabled(data)).items()
    if (file := tree / _PROJECT).is_file():
        data = parsed(file, PROJECT, _called(tree, _PROJECT, of))
        yield _PROJECT, _text(file) if data is None else _project(data)
        if data is not None:
            files |= {tree / name for name in _dynamic(data)}
            yield from contents(tree, _along(data)).items()
    for name in _scripts(tree):
        yield name, _text(tree / name)
        files |= {tree / path for path in _READ.findall(_text(tree / name)) if not _ABOUT.match(Path(path).name)}
    yield from ((name, _text(tree / name)) for name in OTHERS if (tree / name).is_file())
    further = (Named(str(file), PathKind.REQUIREMENTS) for file in sorted(files))
    yield from contents(tree, further).items()


def _below(folder: Path) -> Iterator[Path]:
    yield from (here / name for here, _, names in walked(folder) for name in names if name.endswith(".txt"))


def _scripts(tree: Path) -> Iterator[str]:
    """The files that setuptools reads; ``setup.cfg``, which other tools use too, only if it has requirements."""
    if (tree / _SETUP).is_file():
        yield _SETUP
    options = tree / _OPTIONS
    if options.is_file() and ((tree / _SETUP).is_file() or _NEEDED in _text(options)):
        yield _OPTIONS


def _along(data: Mapping[str, Any]) -> Iterator[Named]:
    """The paths in a project file on this machine."""
    yield from tabled([part(data, keys) for keys in _ALONG])
    yield from named("\n".join(text for keys in _LISTED for text in texts(part(data, keys))))


def _called(tree: Path, name: str, of: str) -> str:
    """The name in messages of a file of the tree, or the full path of a file outside of it."""
    return f"{name} of {of}" if of and not name.startswith("..") else str(normal(tree / name))


def _text(file: Path) -> str:
    return file.read_text(errors="replace")


def _locked(data: Mapping[str, Any]) -> object:
    """The name, version and source of each locked package, without packages by path, such as the project."""
    others = (each for each in packages(data) if all(part(each, f"source.{kind}") is None for kind in _OWN))
    return sorted(([str(each.get(key)) for key in ("name", "version", "source")] for each in others), key=str)


def _project(data: Mapping[str, Any]) -> object:
    """The relevant parts of a project file; None if it only configures tools."""
    if all(part(data, keys) is None for keys in _STATING):
        return None
    return {keys: str(found) for keys in _COUNTED if (found := part(data, keys)) is not None}


def _dynamic(data: Mapping[str, Any]) -> list[str]:
    """The files from which dynamic dependencies are read."""
    hooks = (
        "tool.setuptools.dynamic.dependencies",
        "tool.setuptools.dynamic.optional-dependencies",
        "tool.hatch.metadata",
    )
    return [text for keys in hooks for text in texts(part(data, keys))]
