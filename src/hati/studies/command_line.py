"""The commands that answers name, to be run next."""

from __future__ import annotations

from msgspec import Struct

from hati.core.wording import command_text


class CommandLine(Struct, frozen=True):
    """What commands about the same subject share.

    ``subject`` are the words that name the project or the table, and ``store`` those that name the store.
    ``benchmark`` is empty where the subject has one only. ``resumable`` is false where no store keeps the study: later
    commands know nothing of it.
    """

    subject: tuple[str, ...] = ()
    benchmark: str = ""
    store: tuple[str, ...] = ()
    resumable: bool = True

    def screen(self, *words: str) -> str:
        """The command that screens the benchmark, quoted for a shell."""
        named = ("--benchmark", self.benchmark) if self.benchmark else ()
        return command_text(("hati", "screen", *self.subject, *named, *self.store, *words))

    def validate(self, study: str, metric: str) -> str:
        """The command that validates a screening, quoted for a shell."""
        return command_text(("hati", "validate", *self.subject, *self.store, "--study", study, "--metric", metric))
