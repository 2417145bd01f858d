"""The judgement of claims from the results of a system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hati.document import general, percent

Results = Mapping[str, Any]
SURE = 0.95
MISSED = 0.05
AT_LEAST = 10.0
"""A low-order effect explains "roughly 10 times the variance of its higher-order alias" (RES paper, 4.5.1)."""


class Verdict(StrEnum):
    """The verdict on a claim."""

    CONFIRMED = "confirmed"
    IN_PART = "in part"
    REFUTED = "refuted"
    UNTESTED = "not tested here"


@dataclass(frozen=True)
class Finding:
    """A verdict and the numbers behind it."""

    verdict: Verdict
    numbers: str


def _graded(whole: bool, part: bool) -> Verdict:  # noqa: FBT001 - two outcomes
    return Verdict.CONFIRMED if whole else Verdict.IN_PART if part else Verdict.REFUTED


def identify(found: Results) -> Finding:
    """Whether fractions name exactly the important options."""
    exact = [f["exact"] for f in found["fractions"]]
    sizes = [f"{percent(f['exact'])} of the fractions of {f['runs']}" for f in found["fractions"]]
    false = max(f["false"] for f in found["fractions"])
    numbers = f"exactly the important options are named by {', '.join(sizes)}; a wrong one by at most {percent(false)}"
    return Finding(_graded(exact[-1] >= SURE, max(exact) >= 0.5 and false <= MISSED), numbers)


def estimate(found: Results) -> Finding:
    """Whether suites of the RES paper's sizes estimate the geometric mean."""
    suites = [s for s in found["suites"] if s["runs"] == 2 ** s["top"]]
    missed = [s["suite"]["missed"] for s in suites]
    parts = [
        f"of suites of {s['runs']} runs ({percent(s['runs'] / found['configurations'])} of all) {percent(m)} are off "
        f"by more than 5 %, 95 % of them by at most {percent(s['suite']['worst'])}"
        for s, m in zip(suites, missed, strict=True)
    ]
    return Finding(_graded(max(missed) <= MISSED, min(missed) <= MISSED), "; ".join(parts))


def random(found: Results) -> Finding:
    """Whether random samples of those sizes fail to estimate it."""
    suites = [s for s in found["suites"] if s["runs"] == 2 ** s["top"]]
    missed = [s["random"]["missed"] for s in suites]
    better = [s["suite"]["error"] < s["random"]["error"] for s in suites]
    parts = [
        f"of random samples of {s['runs']} {percent(m)} are off by more than 5 %, and their error is "
        f"{s['random']['error'] / s['suite']['error']:.1f} times that of suites"
        for s, m in zip(suites, missed, strict=True)
    ]
    whole = all(share > MISSED for share in missed) and all(better)
    return Finding(_graded(whole, missed[0] > MISSED and better[0]), "; ".join(parts))


def untested(_: Results) -> Finding:
    """The finding for a claim that is not tested here."""
    return Finding(Verdict.UNTESTED, "it speaks of a system that changes; here each system stands still")


def _listed(letters: Iterable[str]) -> str:
    return ", ".join(sorted(letters)) or "nothing"


def ranked(found: Results) -> Finding:
    """Whether the largest main effects are those of the important options, regardless of what is called important."""
    shares = [f["ranked"] for f in found["fractions"]]
    parts = [f"{percent(f['ranked'])} of the fractions of {f['runs']}" for f in found["fractions"]]
    return Finding(_graded(shares[-1] >= SURE, shares[-1] >= 0.5), f"in {', '.join(parts)}")


def largest(found: Results) -> Finding:
    """Whether the two largest options are found."""
    shares = [f["largest"] for f in found["fractions"]]
    parts = [f"{percent(f['largest'])} of those of {f['runs']}" for f in found["fractions"]]
    verdict = _graded(min(shares) >= SURE, max(shares) >= SURE)
    return Finding(verdict, f"both are called important by {', '.join(parts)}")


def smaller(found: Results) -> Finding:
    """Whether the others are found in the largest fractions."""
    last = found["fractions"][-1]
    smaller = list(last["found"].items())[2:]
    if not smaller:
        return Finding(Verdict.UNTESTED, "no more than two options are important")
    parts = [f"{letter} by {percent(share)}" for letter, share in smaller]
    lowest = min(share for _, share in smaller)
    return Finding(_graded(lowest >= SURE, lowest >= 0.5), f"of the fractions, {', '.join(parts)}")


def pairs(found: Results) -> Finding:
    """Whether the RES paper's fraction for pairs finds the important ones."""
    first, there = found["pairs"][0], len(found["full"]["important_pairs"])
    if not there:
        return Finding(Verdict.UNTESTED, f"no pair is important; the design calls {first['false']} so")
    smallest = min((p["runs"] for p in found["pairs"] if p["important"] == there and not p["false"]), default=None)
    enough = "" if smallest is None else f"; {smallest:,} runs of minimum aberration find them too"
    enough = "" if smallest == first["runs"] else enough
    numbers = (
        f"{first['important']} of the {there} pairs that are important, {first['false']} others, and {first['top']} of "
        f"the five largest{enough}"
    )
    return Finding(_graded(first["important"] == there and not first["false"], first["important"] > 0), numbers)


def heredity(found: Results) -> Finding:
    """Whether important pairs are of important options."""
    important, pairs = set(found["full"]["important"]), found["full"]["important_pairs"]
    within = [pair for pair in pairs if set(pair) <= important]
    if not pairs:
        return Finding(Verdict.UNTESTED, "no pair is important")
    touching = all(set(pair) & important for pair in pairs)
    return Finding(
        _graded(len(within) == len(pairs), touching),
        f"{len(within)} of the {len(pairs)} important pairs ({', '.join(pairs)}) are of important options only",
    )


def aliases(found: Results) -> Finding:
    """Whether important options explain more than their aliases."""
    ratios = found["aliases"]
    parts = [f"{letter} {general(ratio, 3)} times" for letter, ratio in ratios.items()]
    smallest = min(ratios.values(), default=0.0)
    return Finding(
        _graded(smallest >= AT_LEAST, smallest > 1.0), f"variance over the largest alias's: {', '.join(parts)}"
    )


def dealiased(found: Results) -> Finding:
    """Whether de-aliasing with 64 runs leaves what the screening found."""
    row = next(v for v in found["validations"] if v["mode"] == "dealias" and v["budget"] == 64)
    if "refused" in row:
        return Finding(Verdict.UNTESTED, row["refused"])
    screened = set(found["fractions"][-1]["important"])
    kept = screened <= set(row["effects"]) and not row["wrong"]
    numbers = f"important after screening {_listed(screened)}, after de-aliasing {_listed(row['effects'])}"
    return Finding(_graded(kept, screened <= set(row["effects"])), numbers)


def third(found: Results) -> Finding:
    """Whether effects of three options are of important options only."""
    important, three = set(found["full"]["important"]), found["third_order"]
    outside = [effect for effect in three if not set(effect) <= important]
    listed = f": {', '.join(three[:5])}{', ...' if len(three) > 5 else ''}" if three else ""
    numbers = f"{len(three)} effects of three options are important{listed}; {len(outside)} involve an unimportant one"
    return Finding(_graded(not outside, all(set(effect) & important for effect in outside)), numbers)


def rank_test(found: Results) -> Finding:
    """Whether suites are distinguished from full data, and shown to be equivalent to them."""
    suites = [s for s in found["suites"] if s["runs"] == 2 ** s["top"]]
    parts = [
        f"{percent(s['suite']['rejected'])} of suites of {s['runs']} differ significantly from full data (of random "
        f"samples {percent(s['random']['rejected'])}), but the test sees a shift of "
        f"{s['suite']['detectable']:.2f} sd only; {percent(s['suite']['equivalent'])} are shown equivalent within 5 %"
        for s in suites
    ]
    rejected = max(s["suite"]["rejected"] for s in suites)
    proved = min(s["suite"]["equivalent"] for s in suites)
    return Finding(_graded(rejected <= MISSED and proved >= SURE, rejected <= MISSED), "; ".join(parts))
