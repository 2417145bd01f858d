"""A run to be made, with all that a machine must know to make it."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from hati.core.benchmark import Benchmark
from hati.core.errors import InputError
from hati.core.replacing import replace
from hati.core.study import Task, digest
from hati.core.values import Assignment, Setting, Workload, canonical_json


class Job(Struct, frozen=True, dict=True):
    """A task with the whole definition of its benchmark, and the digest of its ``sources``: the subject's files.

    It can be sent anywhere: nothing else is needed but the files, which are the same wherever ``sources`` is.

    Raises:
        InputError: where the benchmark is not the task's.
    """

    task: Task
    benchmark: Benchmark
    sources: str

    def __post_init__(self) -> None:
        if self.task.benchmark != self.benchmark.name:
            raise InputError(f"a task of {self.task.benchmark!r} has the definition of {self.benchmark.name!r}")

    @cached_property
    def digest(self) -> str:
        """A hash of the whole job; equal jobs have equal digests.

        The task's id does not depend on it: the id says what a run is evidence for.
        """
        located = replace(self.benchmark, metric_places=(), warmup_place=None)
        return digest(msgspec.to_builtins(replace(self, benchmark=located), enc_hook=dict), 64)

    def to_json(self) -> str:
        """Its canonical JSON."""
        return canonical_json(msgspec.to_builtins(self, enc_hook=_plain))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The job that has that JSON.

        Raises:
            InputError: where it is that of none.
        """
        try:
            return msgspec.convert(json.loads(text), cls, dec_hook=_assigned)
        except (ValueError, msgspec.ValidationError) as error:
            raise InputError(f"this is not the JSON of a job: {error}") from None


def _plain(value: Any) -> object:
    """A workload as pairs, since the order in which it is declared counts."""
    if isinstance(value, Workload):
        return [[name, value[name]] for name in value.declared]
    if isinstance(value, Assignment):
        return dict(value)
    raise NotImplementedError(type(value).__name__)


def _assigned(kind: Any, value: Any) -> object:
    if issubclass(kind, Workload):
        return kind(dict(msgspec.convert(value, list[tuple[str, Setting]])))
    return kind(msgspec.convert(value, dict[str, Setting]))
