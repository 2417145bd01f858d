"""Where modules come from: the measured ones from the revision, workloads and instances from the working tree."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from .replacing import Replace, classes_replaced
from .trouble import Trouble, ended

PRIVATE = "_hati_working_"
_HATI, _OURS = "hati", ".hati/"


class WorkingFinder:
    """Finds modules that only the working tree has: it is the last finder, and off while the subject is imported.

    To packages of the revision it adds source files only: a compiled module would be that of the newer version.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self.roots = list(roots)
        self.awake = False

    def find_spec(self, name: str, path: object = None, _target: object = None) -> ModuleSpec | None:
        """The method that the import system calls."""
        spec = self.search(name) if self.awake else None
        if spec is None or path is None or isinstance(spec.loader, SourceFileLoader):
            return spec
        return None

    def search(self, name: str) -> ModuleSpec | None:
        """The working tree's module of that name, even if there are others."""
        places: Any = self.roots
        spec = None
        parts = name.split(".")
        for depth in range(len(parts)):
            spec = PathFinder.find_spec(".".join(parts[: depth + 1]), places)
            if spec is None:
                return None
            places = spec.submodule_search_locations
            if places is None and depth + 1 < len(parts):
                return None
        return spec


class Places:
    """The subject's tree and the working tree, each with the folders from which modules are imported."""

    def __init__(self, tree: str, working: str, roots: Sequence[str], release: bool) -> None:
        self.tree, self.working = os.path.realpath(tree), os.path.realpath(working)
        self.same = self.tree == self.working and not release
        self.release, self._roots = release, roots
        self._own = [] if release else _folders(self.tree, roots)
        self._finder = WorkingFinder(_folders(self.working, roots))

    @property
    def searched(self) -> str:
        """Where the subject's modules are searched, in words: the revision, and the roots if it has none of them."""
        lacking = "" if self._own or self.release else ", ".join(self._roots)
        return f"the revision, which has no folder {lacking}: see `roots` of [python]" if lacking else "the revision"

    def open(self) -> None:
        """Let imports search the subject's tree first and the working tree last."""
        sys.path[:0] = self._own
        sys.meta_path.append(self._finder)

    def subject(self, name: str) -> ModuleType:
        """A module of the subject.

        Raises:
            ModuleNotFoundError: if there is none.
            Trouble: if it was found in the working tree.
        """
        awake, self._finder.awake = self._finder.awake, self.same
        try:
            module = _imported(name)
        finally:
            self._finder.awake = awake
        file = os.path.realpath(getattr(module, "__file__", None) or "")
        if not self.same and self._is_working(file):
            raise Trouble(f"{name} was found in the working tree ({file}), not in the revision")
        return module

    def generators(self, name: str, replace: Replace = classes_replaced) -> ModuleType:
        """A module with workloads or instances: the working tree's, even if the revision has one of that name.

        If so, ``replace`` substitutes the revision's objects for those that both have: classes, so that an instance
        is of the measured class, or all callables, for a measuring function.
        """
        self._finder.awake = True
        own = None if self.same else self._finder.search(name)
        if own is None or own.origin is None:
            return _imported(name)
        usual = importlib.util.find_spec(name)
        if usual is not None and usual.origin == own.origin:
            return _imported(name)
        return self._private(name, own.origin, replace)

    def _private(self, name: str, file: str, replace: Replace) -> ModuleType:
        parent, _, leaf = name.rpartition(".")
        if os.path.basename(file) == "__init__.py":
            parent, leaf = name, "__init__"
        private = f"{parent}.{PRIVATE}{leaf}" if parent else f"{PRIVATE}{leaf}"
        module = sys.modules.get(private) or self._loaded(private, file)
        replace(module, self.subject(name))
        return module

    def _loaded(self, name: str, file: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise Trouble(f"{file} cannot be loaded")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except SystemExit as error:
            raise ended(f"{file} ended the process while it was imported", error) from None
        return module

    def loaded(self) -> list[tuple[str, str]]:
        """The modules loaded from the working tree, with their paths in it; none if it is also the subject's tree."""
        found = []
        for name, module in [] if self.same else sorted(sys.modules.items()):
            origin = getattr(module, "__file__", None)
            if not origin:
                continue
            file = os.path.realpath(origin)
            path = os.path.relpath(file, self.working).replace(os.sep, "/")
            if self._is_working(file) and name.partition(".")[0] != _HATI and not path.startswith(_OURS):
                found.append((name, path))
        return found

    def _is_working(self, file: str) -> bool:
        mine = any(file.startswith(root + os.sep) for root in self._finder.roots)
        theirs = [self.tree, os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)]
        return mine and not any(file.startswith(top + os.sep) for top in theirs if top != self.working)


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except SystemExit as error:
        raise ended(f"{name} ended the process while it was imported", error) from None


def _folders(top: str, roots: Sequence[str]) -> list[str]:
    paths = [os.path.normpath(os.path.join(top, root)) for root in roots]
    return [path for path in paths if os.path.isdir(path)]
