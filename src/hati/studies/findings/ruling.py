"""What stops a change: what a gate found, but for what is known."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hati.core import Finding
from hati.studies.comparison import Comparison, Verdict
from hati.studies.findings.sighting import Report, spot_of
from hati.studies.gate import Broken, GateConclusion


class Ruling(Struct, frozen=True):
    """A gate's conclusion with what is to be told of findings; ``failing`` are the verdicts that stop a change.

    Everything that tells of a gate asks here what fails, so that all say the same.
    """

    gate: GateConclusion
    reports: tuple[Report, ...] = ()
    failing: frozenset[Verdict] = frozenset({Verdict.SLOWER, Verdict.INCONCLUSIVE})

    @property
    def verdict(self) -> Verdict:
        """The worst of what is not known: slower anywhere, else inconclusive, faster or the same over all."""
        ranked = (Verdict.SLOWER, Verdict.INCONCLUSIVE, Verdict.FASTER)
        return next((verdict for verdict in ranked if verdict in self._verdicts), Verdict.SAME)

    @property
    def stopping(self) -> frozenset[Verdict]:
        """The verdicts because of which the change is stopped."""
        return self.failing & self._verdicts

    @property
    def broken(self) -> tuple[Broken, ...]:
        """What cannot be measured at the revision, and can at the reference."""
        gate = self.gate
        return tuple(each for each in gate.broken if each.alone and each.revision == gate.revision)

    @property
    def fails(self) -> bool:
        """Whether the change is stopped."""
        return bool(self.broken or self.stopping)

    @property
    def slower(self) -> tuple[Comparison, ...]:
        """All that is slower and not known, over all configurations and in strata."""
        return tuple(row for row in self._rows() if row.change.verdict is Verdict.SLOWER and self.known(row) is None)

    @property
    def known_slower(self) -> tuple[str, ...]:
        """The findings because of which what is slower fails nothing, by their ids."""
        return tuple(sorted({one.id for row in self._rows() if (one := self.known(row)) is not None}))

    def known(self, row: Comparison) -> Finding | None:
        """The finding because of which a row that is slower fails nothing; None where it is not known."""
        if row.change.verdict is not Verdict.SLOWER:
            return None
        spot = spot_of(row)
        about = [one for one in self.reports if one.finding.worse and spot in one.finding.sizes]
        return about[0].finding if about and not any(one.fails for one in about) else None

    @property
    def _verdicts(self) -> frozenset[Verdict]:
        """Of what is not known: over all configurations, and of strata what is told."""
        return frozenset(
            row.change.verdict
            for row in (*self.gate.rows, *(row for row in self._rows() if row.change.told))
            if self.known(row) is None
        )

    def _rows(self) -> Iterator[Comparison]:
        yield from self.gate.rows
        for each in self.gate.strata:
            yield each.comparison
