"""``python -m benchmarks.bookstore``: is a fast path that takes a tenth longer detected under a slow one?

Campaigns with examples/bookstore alternate: the original against the damaged application server, and the original
against itself. Each runs ``hati run``, ``hati export`` and ``hati compare`` in three minutes. Verdicts by clusters are
compared with those by means and medians of runs; the first campaign also gives figure 8 of the Kalibera paper.
Campaigns already in ``--folder`` are not repeated. All take two hours, and are not part of ``python -m benchmarks``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.markdown import table

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "bookstore"
HATI = str(Path(sys.executable).with_name("hati"))
CAMPAIGNS = 20
BUDGET = 88
METRIC = "book"
MISSED = 1
"""The number of 20 campaigns that may miss the damage, and of 20 that may see one where there is none."""

Samples = dict[str, Any]


@dataclass(frozen=True)
class Campaign:
    """One campaign's comparison: which methods called the second sample slower, and its samples."""

    slower: dict[str, bool]
    clusters: list[dict[str, Any]]
    before: Samples
    after: Samples


def hati(*words: str) -> str:
    """Run a command and return its output; 1 and 3, with which comparisons end, are no errors."""
    done = subprocess.run([HATI, *words], capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1, 3}:
        raise RuntimeError(f"hati {' '.join(words)}: {done.stderr}")
    return done.stdout


def measure(folder: Path, *, damaged: bool, budget: int = BUDGET) -> None:
    """Run one campaign; its samples are ``A.json`` and ``B.json`` in the folder."""
    if (folder / "B.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    place = (str(EXAMPLE), "--store", str(folder / "store.sqlite"))
    settings = ("--set", "damage=0", "--set", "damage=10") if damaged else ()
    hati("run", *place, *settings, "--budget", str(budget))
    if damaged:
        sides = [json.loads(hati("export", *place, "--where", f"damage={damage}")) for damage in (0, 10)]
    else:
        sides = halves(json.loads(hati("export", *place)))
    for name, side in zip("AB", sides, strict=True):
        (folder / f"{name}.json").write_text(json.dumps(side))


def halves(whole: Samples) -> list[Samples]:
    """The runs of an A/A campaign, assigned alternately to two samples, so that both span the same time."""
    return [
        {**whole, "samples": [{**sample, "runs": sample["runs"][first::2]} for sample in whole["samples"]]}
        for first in (0, 1)
    ]


def read(folder: Path) -> Campaign:
    files = [folder / "A.json", folder / "B.json"]
    slower = {}
    for statistic in ("mean", "median"):
        compared = hati("compare", *map(str, files), "--metric", METRIC, "--statistic", statistic, "--format", "json")
        [row] = json.loads(compared)["comparisons"]
        slower[statistic] = row["verdict"] == "slower"
        clusters = row["clusters"] or []
    slower["clusters"] = any(cluster["verdict"] == "slower" for cluster in clusters)
    before, after = (json.loads(file.read_text()) for file in files)
    return Campaign(slower, clusters, before, after)


def observations(samples: Samples) -> list[list[float]]:
    """The durations of the metric's calls in s for each run, without warm-up."""
    [sample] = [sample for sample in samples["samples"] if sample["metric"] == METRIC]
    return [run["observations"][run["warmup"] :] for run in sample["runs"]]


def figure_8(campaign: Campaign, runs: int = 4) -> str:
    """Medians and means of the first runs of both versions in us, as in the Kalibera paper."""
    rows = []
    for version, samples in (("original", campaign.before), ("damaged", campaign.after)):
        for name, of in (("median", median), ("average", fmean)):
            rows.append([version, name, *(f"{of(values) / 1e-6:.0f}" for values in observations(samples)[:runs])])
    header = ["version", "response time [us]", *(f"run {number + 1}" for number in range(runs))]
    note = "Kalibera paper, figure 8: medians 79910 in all runs; averages 55890 to 56220, damaged 55540 to 56330."
    return table("Bookstore: what medians and averages show", header, rows, note)


def fast_ratio(campaign: Campaign) -> str:
    """The ratio of the times of calls to the cache: by medians of runs' calls below 10 ms, without clusters."""
    sides = [
        fmean(median([value for value in values if value < 10e-3]) for values in observations(samples))
        for samples in (campaign.before, campaign.after)
    ]
    return f"{sides[1] / sides[0]:.3f}"


def verdicts(campaigns: dict[str, list[Campaign]]) -> str:
    rows = []
    for kind, made in campaigns.items():
        called = [f"{sum(one.slower[by] for one in made)} of {len(made)}" for by in ("clusters", "mean", "median")]
        ratios = sorted(map(fast_ratio, made))
        rows.append([kind, *called, f"{ratios[0]} to {ratios[-1]}"])
    header = ["campaigns", "slower by clusters", "by mean", "by median", "ratio of calls below 10 ms"]
    note = f"{BUDGET // 2} runs a side, alpha 0.01, margin 5 %, metric `{METRIC}`."
    return table("Bookstore: is a fast path seen that takes a tenth longer?", header, rows, note)


def result(number: int = CAMPAIGNS, folder: Path | None = None) -> tuple[str, bool]:
    """The tables, and whether the goals are met."""
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            return result(number, Path(made))
    campaigns: dict[str, list[Campaign]] = {"damaged": [], "the same": []}
    for count in range(number):
        for kind, found in campaigns.items():
            place = folder / f"{kind.replace(' ', '-')}-{count}"
            measure(place, damaged=kind == "damaged")
            found.append(read(place))
    seen, false = (sum(one.slower["clusters"] for one in found) for found in campaigns.values())
    allowed = number * MISSED // CAMPAIGNS
    held = seen >= number - allowed and false <= allowed
    goal = f"- {'met' if held else 'MISSED'}: all but {allowed} damaged called slower, at most {allowed} of the same\n"
    return "\n".join([verdicts(campaigns), goal, figure_8(campaigns["damaged"][0])]), held


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=CAMPAIGNS, help="of each kind; two take three minutes")
    parser.add_argument("--folder", type=Path, help="keeps the campaigns, so that a second call goes on")
    options = parser.parse_args(words)
    text, held = result(options.campaigns, options.folder)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
