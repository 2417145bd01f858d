"""Gates as they end, with findings: what is told of each is compared with golden texts."""

from __future__ import annotations

from datetime import UTC, datetime

from hati.core import Better, Configuration, Event, EventKind, Metric, Revision, RevisionKind, Size, Workload
from hati.studies.comparison import Change, ChangeVerdict, Comparison, Question, Side
from hati.studies.findings import Report, Ruling, findings_of, spot_of
from hati.studies.gate import AffectedOption, Broken, GateConclusion
from hati.studies.gate.conclusion import StratumChange

OLD = Revision("0766cbb3234b" + "0" * 28, RevisionKind.GIT, "main", "first")
NEW = Revision("acbda8759275" + "0" * 28, RevisionKind.GIT, "HEAD", "simpler cache")
NASTY = 'a|b "c" <d> &e, `f`: 100%\n::error::g — 狼'
RATIOS = {
    ChangeVerdict.SLOWER: 1.13,
    ChangeVerdict.FASTER: 0.9,
    ChangeVerdict.SAME: 1.001,
    ChangeVerdict.INCONCLUSIVE: 1.02,
}
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def row(
    verdict: ChangeVerdict, benchmark: str = "main", metric: str = "latency", where: Configuration | None = None
) -> Comparison:
    ratio = RATIOS[verdict]
    half = 0.015 if verdict is not ChangeVerdict.INCONCLUSIVE else 0.12
    p_value = 0.0009 if ratio in {1.13, 0.9} else 0.4
    needed = 40 if verdict is ChangeVerdict.INCONCLUSIVE else 10
    change = Change(verdict, ratio, (ratio - half, ratio + half), p_value, p_value, 0.02, needed)
    sides = (Side(mean, None, 10, which.id, "machine") for mean, which in ((0.001, OLD), (0.001 * ratio, NEW)))
    return Comparison(
        benchmark, where or Configuration(), Workload(), Metric(metric, "s", Better.LOWER), change, *sides
    )


def gate(
    *rows: Comparison,
    strata: tuple[StratumChange, ...] = (),
    affected: tuple[AffectedOption, ...] = (),
    broken: tuple[Broken, ...] = (),
    unconfirmed: tuple[str, ...] = (),
) -> GateConclusion:
    return GateConclusion(
        study="gate-1",
        reference=OLD,
        revision=NEW,
        question=Question(),
        rows=rows,
        strata=strata,
        affected_options=affected,
        broken=broken,
        explored=5,
        confirmed=5 if any(one.change.changed for one in rows) else 0,
        unconfirmed=unconfirmed,
        stages=2 if unconfirmed or any(one.change.changed for one in rows) else 1,
        done=80,
        failed=2 if broken else 0,
        seconds=12.5,
        warnings=(),
    )


def report(found: GateConclusion, *, fails: bool, reason: str = "") -> Report:
    """Of one finding, about all that is slower."""
    slower = [one for one in (*found.rows, *(each.comparison for each in found.strata)) if one.change.ratio == 1.13]
    sizes = {spot_of(one): Size(1.13, *one.change.interval) for one in slower if one.change.interval}
    seen = Event("regression-7f220f01", EventKind.SEEN, AT, found.study, OLD.id, NEW.id, sizes)
    events = [seen]
    if reason:
        at = AT.replace(hour=13)
        events.append(Event(seen.finding, EventKind.ACKNOWLEDGED, at, author="Sköll", reason=reason))
    [finding] = findings_of(events)
    return Report(finding, news=fails, fails=fails)


def affected(benchmark: str = "main") -> tuple[AffectedOption, ...]:
    return (
        AffectedOption(benchmark, "latency", "cache", False, 0.999, (0.98, 1.017), 1e-5),
        AffectedOption(benchmark, "latency", "cache", True, 1.279, (1.25, 1.308), 1e-5),
    )


def same() -> Ruling:
    return Ruling(
        gate(row(ChangeVerdict.SAME), row(ChangeVerdict.SAME, metric="memory"), unconfirmed=("memory of main",))
    )


def slower() -> Ruling:
    where = Configuration({"cache": True})
    stratum = StratumChange(where, row(ChangeVerdict.SLOWER, where=where))
    found = gate(row(ChangeVerdict.SLOWER), row(ChangeVerdict.SAME, "other"), strata=(stratum,), affected=affected())
    return Ruling(found, (report(found, fails=True),))


def known() -> Ruling:
    """What is slower was acknowledged."""
    found = gate(row(ChangeVerdict.SLOWER), row(ChangeVerdict.SAME, "other"), affected=affected())
    return Ruling(found, (report(found, fails=False, reason="the cache is correct now"),))


def known_and_undecided() -> Ruling:
    found = gate(row(ChangeVerdict.SLOWER), row(ChangeVerdict.INCONCLUSIVE, "other"))
    return Ruling(found, (report(found, fails=False, reason="as it should be"),))


def faster() -> Ruling:
    return Ruling(gate(row(ChangeVerdict.FASTER), row(ChangeVerdict.SAME, "other")))


def inconclusive() -> Ruling:
    return Ruling(gate(row(ChangeVerdict.INCONCLUSIVE), row(ChangeVerdict.SAME, "other")))


def broken() -> Ruling:
    """One configuration works at the reference alone, another at the revision alone, one nowhere."""
    told = (
        Broken("main", Configuration({"cache": True}), NEW, "build: make: *** no rule\nmore output", alone=True),
        Broken("main", Configuration({"cache": False}), OLD, "exit status 1", alone=True),
        Broken("other", Configuration(), NEW, "timeout", alone=False),
    )
    return Ruling(gate(row(ChangeVerdict.SAME), broken=told))


def hostile() -> Ruling:
    where = Configuration({"o|p": "x, y"})
    stratum = StratumChange(where, row(ChangeVerdict.SLOWER, NASTY, where=where))
    found = gate(
        row(ChangeVerdict.SLOWER, NASTY),
        row(ChangeVerdict.INCONCLUSIVE, NASTY, metric="µ<memory>|\x07"),
        strata=(stratum,),
        affected=affected(NASTY),
    )
    return Ruling(found, (report(found, fails=True),))


def many() -> Ruling:
    """Of 300 benchmarks 2 are slower, 30 are not decided and 1 is faster."""
    verdicts = [ChangeVerdict.SAME] * 300
    verdicts[7] = verdicts[150] = ChangeVerdict.SLOWER
    verdicts[20:50] = [ChangeVerdict.INCONCLUSIVE] * 30
    verdicts[222] = ChangeVerdict.FASTER
    found = gate(*(row(verdict, f"benchmark {number:03}") for number, verdict in enumerate(verdicts)))
    return Ruling(found, (report(found, fails=True),))


GATES = {
    "same": same,
    "slower": slower,
    "known": known,
    "known-and-undecided": known_and_undecided,
    "faster": faster,
    "inconclusive": inconclusive,
    "broken": broken,
    "hostile": hostile,
    "many": many,
}
