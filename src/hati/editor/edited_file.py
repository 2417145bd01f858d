"""A task set's file while it is edited: the texts since it was opened, what is wrong, and saving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from msgspec import Struct

from hati.core import InputError, Place
from hati.file_errors import write_error
from hati.generate.editing import Edit, EditHistory, place_after
from hati.generate.task_set import TaskSetError
from hati.generate.tasks import Path as ValuePath
from hati.generate.yaml_text import inline, read_yaml
from hati.whole_files import replace_file

Check = Callable[[str, str], object]
"""Raises an ``InputError`` where a text is not a task set; the second argument names it in errors."""

_NEW = """\
name: {name}
machines: [here]
roles: []
"""


class EditProblem(Struct, frozen=True):
    """What is wrong, where, and how to fix it; ``path`` leads to the part concerned."""

    message: str
    fix: str = ""
    path: ValuePath = ()
    place: str = ""


class EditorState(Struct, frozen=True):
    """What the page shows; ``selected`` is the part that the last edit concerned."""

    file: str
    text: str
    values: Any
    problems: tuple[EditProblem, ...]
    changed: bool
    undo: bool
    redo: bool
    selected: ValuePath | None = None


def _check_folder(folder: Path) -> None:
    """Raise an error unless a file can be created in a folder."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", fix="create it, or name another file")
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise write_error(folder, error, "name a file in another folder") from None


class EditedFile:
    """A file and the texts since it was opened; a file that does not exist is created when it is saved.

    Raises:
        InputError: where it cannot be read, or is not a mapping in YAML, with the place, or a new one not be created.
        MeasurementError: where the disk is full.
    """

    def __init__(self, file: Path, check: Check) -> None:
        self._file = file.resolve()
        self._name = file.name
        self._check = check
        self._on_disk = self._read()
        if self._on_disk is None:
            _check_folder(self._file.parent)
        new = _NEW.format(name=inline(self._file.stem)).encode()
        self._history = EditHistory((_text(new if self._on_disk is None else self._on_disk, self._file),))

    @property
    def changed(self) -> bool:
        """Whether the current text is not on disk."""
        return self._on_disk is None or self._history.text.encode() != self._on_disk

    def state(self, selected: ValuePath | None = None) -> EditorState:
        """The current text, its values and what is wrong with it."""
        text = self._history.text
        return EditorState(
            self._name,
            text,
            read_yaml(text).data,
            self._problems(text),
            self.changed,
            self._history.current > 0,
            self._history.current + 1 < len(self._history.texts),
            selected,
        )

    def edit(self, edits: Sequence[Edit]) -> EditorState:
        """Apply edits, which are undone together.

        Raises:
            InputError: where one is not possible; nothing has changed then.
        """
        self._history = self._history.edited(*edits)
        return self.state(place_after(edits[-1]) if edits else None)

    def undo(self) -> EditorState:
        """Go one edit back."""
        self._history = self._history.undone()
        return self.state()

    def redo(self) -> EditorState:
        """Go one edit forward again."""
        self._history = self._history.redone()
        return self.state()

    def reload(self) -> EditorState:
        """Read the file again, as an edit that can be undone.

        Raises:
            InputError: where it cannot be read, or is not a mapping in YAML.
        """
        found = self._read()
        if found is None:
            raise InputError(f"{self._name} was removed", fix="save it, which creates it again")
        text = _text(found, self._file)
        self._on_disk = found
        self._history = self._history.followed_by(text)
        return self.state()

    def save(self) -> EditorState:
        """Write the file as a whole, or leave it as it is.

        Raises:
            InputError: where it has changed since it was read, or cannot be written.
        """
        content = self._history.text.encode()
        if self._read() != self._on_disk:
            raise InputError(
                f"{self._name} has changed on disk since it was opened",
                fix="reload it, or undo that change there; nothing was written",
            )
        try:
            replace_file(self._file, [content])
        except OSError as error:
            raise InputError(f"cannot write {self._name}: {error.strerror}", fix="nothing was written") from None
        self._on_disk = content
        return self.state()

    def _read(self) -> bytes | None:
        try:
            return self._file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            place = Place(str(self._file))
            raise InputError(f"cannot read it: {error.strerror}", place=place, fix="name a file in YAML") from None

    def _problems(self, text: str) -> tuple[EditProblem, ...]:
        try:
            self._check(text, self._name)
        except TaskSetError as error:
            return tuple(_problem(each, each.path) for each in (error, *error.others))
        except InputError as error:
            return (_problem(error, ()),)
        return ()


def _problem(error: InputError, path: ValuePath) -> EditProblem:
    return EditProblem(error.message, error.fix or "", path, str(error.place or ""))


def _text(content: bytes, file: Path) -> str:
    """The text of a file that can be edited."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise InputError("cannot read it: it is not UTF-8", place=Place(str(file)), fix="name a file in YAML") from None
    ends = text.count("\r\n")
    if ends and ends != text.count("\n"):
        place = Place(str(file), next(n for n, line in enumerate(text.split("\n"), 1) if not line.endswith("\r")))
        raise InputError("some lines end with \\r\\n, this one with \\n", place=place, fix="end all with \\n")
    read_yaml(text, str(file))
    return text
