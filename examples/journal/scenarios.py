"""Skoll's four scenarios (RES paper, section 2) on a C program with planted configuration faults.

Run it with `make scenarios`. Each scenario prints its commands, and whether they found what was planted. The exit
status is 1 if one did not. Numbers as arguments choose scenarios.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
BUILD = {"arena": 1, "locking": "SPIN"}
PLATFORM = {"OperatingSystem": "FREEBSD"}
SLOW = {"index": "array", "order": "newest", "verify": "each"}
USAGE = {
    "OperatingSystem": [6, 3, 1],
    "locking": [8, 1, 1],
    "arena": [3, 1],
    "index": [9, 1],
    "order": [9, 1],
    "verify": [7, 3],
    "compress": [1, 1],
}


class Claim(NamedTuple):
    """What a scenario should show, and whether it did."""

    text: str
    holds: bool


class Project:
    """A copy of the example with a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("hati.toml", "journal.c"):
            shutil.copy(HERE / name, folder)

    def hati(self, *words: str, statuses: tuple[int, ...] = (0,)) -> Any:
        """Run a command, print it, and return its JSON; None if it printed none."""
        print(f"  $ hati {shlex.join(words)}", flush=True)
        command = [sys.executable, "-m", "hati", *words, "--format", "json"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode not in statuses:
            raise SystemExit(f"{shlex.join(command)} ended with status {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout) if done.stdout.strip() else None


def settings(found: Any) -> list[dict[str, Any]]:
    return [each["settings"] for each in found["combinations"]]


def certain(found: Any, *wanted: dict[str, Any]) -> bool:
    """Whether exactly these settings were found, each with certainty."""
    verdicts = {each["verdict"] for each in found["combinations"]}
    named, expected = (sorted(sorted(map(str, each.items())) for each in those) for those in (settings(found), wanted))
    return verdicts == {"certain"} and named == expected


def task_model(project: Project) -> Iterator[Claim]:
    """1. The task model: only valid configurations run, and the faults are found and characterised."""
    found = project.hati("failures", "--strength", "3", "--seed", "1")
    yield Claim(
        "the faults of build, platform and speed are named, and no other", certain(found, BUILD, PLATFORM, SLOW)
    )
    near = [each["without_failed"] for each in found["combinations"]]
    yield Claim("no run without one of the settings failed", near == [0, 0, 0])
    rules = [set(rule["conditions"]) for rule in found["tree"]["rules"]] if found["tree"] else None
    named = [{f"{name}={setting}" for name, setting in each.items()} for each in (BUILD, PLATFORM, SLOW)]
    yield Claim(
        "the classification tree has the same rules",
        (rules is None and find_spec("sklearn") is None) or sorted(map(sorted, rules)) == sorted(map(sorted, named)),
    )


def earlier_results(project: Project) -> Iterator[Claim]:
    """2. Results of earlier tasks: what is known to fail is left out, and the rest is explored."""
    found = project.hati("failures", "--strength", "3", "--seed", "1")
    yield Claim("the faults are named, and no other", certain(found, BUILD, PLATFORM, SLOW))
    seen = found["coverage"]
    yield Claim("each combination that can pass was seen passing", seen["passing"] + seen["excluded"] == seen["valid"])
    file = project.folder / "hati.toml"
    faults = [" and ".join(f"{n} == {s!r}" for n, s in each.items()) for each in (BUILD, PLATFORM, SLOW)]
    lines = ", ".join(json.dumps(f"not ({fault})") for fault in faults)
    file.write_text(f"{file.read_text()}\n[space]\nconstraints = [{lines}]\n")
    rest = project.hati("failures", "--strength", "3", "--seed", "1")
    yield Claim("without the faults, nothing fails", rest["combinations"] == [] and rest["runs"]["failed"] == 0)
    yield Claim("all of the rest was seen passing", rest["coverage"]["share"] == 1.0)


def goals(project: Project) -> Iterator[Claim]:
    """3. Goals: configurations in use are run first, and faults have their share of use."""
    file = project.folder / "hati.toml"
    text = file.read_text()
    for name, weights in USAGE.items():
        text = text.replace(f"[options.{name}]\n", f"[options.{name}]\nusage = {weights}\n")
    file.write_text(text)
    found = project.hati("failures", "--strength", "3", "--seed", "1")
    yield Claim("the same faults are named", certain(found, BUILD, PLATFORM, SLOW))
    use = {tuple(sorted(each["settings"])): round(each["usage"], 3) for each in found["combinations"]}
    wanted = {("arena", "locking"): 0.025, ("OperatingSystem",): 0.1, ("index", "order", "verify"): 0.003}
    yield Claim("their shares of use are 10 %, 2.5 % and .3 %", use == wanted)


def clients(project: Project) -> Iterator[Claim]:
    """4. Clients: each machine runs what it can, and a tree of all runs shows which platform fails."""
    for system in ("DEBIAN", "ALPINE"):
        found = project.hati("failures", "--set", f"OperatingSystem={system}")
        yield Claim(f"{system} has the faults of build and speed only", certain(found, BUILD, SLOW))
    project.hati("failures", "--set", "OperatingSystem=FREEBSD", statuses=(4,))
    tree = project.hati("tree")["tree"]
    rules = {" and ".join(rule["conditions"]): rule for rule in tree["rules"]}
    platform = rules.get("OperatingSystem=FREEBSD", {"failed": 0, "runs": 0})
    yield Claim("FREEBSD alone explains its failures", platform["failed"] == platform["runs"] >= 10)


SCENARIOS = {"1": task_model, "2": earlier_results, "3": goals, "4": clients}


def main() -> None:
    """Replay the scenarios that the arguments name, or all."""
    failed = 0
    for number in sys.argv[1:] or SCENARIOS:
        scenario = SCENARIOS[number]
        print(scenario.__doc__)
        with tempfile.TemporaryDirectory() as folder:
            for claim in scenario(Project(Path(folder))):
                print(f"  {'yes' if claim.holds else 'NO '}  {claim.text}", flush=True)
                failed += not claim.holds
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
