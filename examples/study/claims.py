"""The claims of the RES paper, and the rules by which a system's results confirm them; the page states the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from examples.study import judging
from examples.study.judging import Finding, Results


@dataclass(frozen=True)
class Claim:
    """A claim of the RES paper with its place there, and its judgement from results."""

    place: str
    text: str
    rule: str
    judge: Callable[[Results], Finding]


CLAIMS = (
    Claim(
        "5.2, 1",
        "Screening designs can correctly identify important options",
        "exactly the important options named by 95 % of the 128-run fractions; in part: by half of those of some size, "
        "and a wrong one by at most 5 %",
        judging.identify,
    ),
    Claim(
        "5.2, 2",
        "These options can be used to produce reliable estimates of performance across the entire space at a fraction "
        "of the cost of exhaustive testing",
        "at most 5 % of the suites are off by more than 5 % in the geometric mean; in part: of one size",
        judging.estimate,
    ),
    Claim(
        "5.2, 3",
        "Random or ad hoc sampling can give highly unreliable results",
        "more than 5 % of random samples of the suites' sizes are off by more than 5 %, and their error is above the "
        "suites'; in part: of the smaller size",
        judging.random,
    ),
    Claim(
        "5.2, 4", "The process detected performance degradation on a large and evolving system", "", judging.untested
    ),
    Claim("5.2, 5", "Suites' estimates were more precise than the developers' ad hoc process", "", judging.untested),
)

DETAILS = (
    Claim(
        "4.3",
        "The largest main effects, as many as matter, are those of the important options (what judging a plot by eye, "
        "as the seed does, can give at best)",
        "by 95 % of the 128-run fractions; in part: by half of them",
        judging.ranked,
    ),
    Claim(
        "4.3",
        "All screening designs identify the two largest options",
        "by 95 % of the fractions of every size; in part: of one size",
        judging.largest,
    ),
    Claim(
        "4.3",
        "The 128-run design identifies the smaller important ones as well",
        "each by 95 % of the fractions; in part: by half of them",
        judging.smaller,
    ),
    Claim(
        "4.4",
        "The 2,048-run design identifies the most important pairs",
        "all that are important in full data, and no other; in part: some",
        judging.pairs,
    ),
    Claim(
        "4.4",
        "The most important pairs are of options that are important by themselves",
        "all important pairs; in part: each has one such option",
        judging.heredity,
    ),
    Claim(
        "4.5.1",
        "Important options are important and not what they are aliased with, by ten times the variance",
        "ten times for each; in part: more for each",
        judging.aliases,
    ),
    Claim(
        "4.5.1",
        "De-aliasing to third order with 64 more runs reaches the conclusions of a complete de-aliasing",
        "all that the screening found stays important and nothing wrong is; in part: with something wrong",
        judging.dealiased,
    ),
    Claim(
        "4.5.2",
        "No important effect up to third order involves an unimportant option",
        "none; in part: each involves an important one as well",
        judging.third,
    ),
    Claim(
        "4.6",
        "Mann and Whitney's test finds no difference between suites and full data",
        "at most 5 % differ and 95 % are shown equivalent; in part: the former only",
        judging.rank_test,
    ),
)
