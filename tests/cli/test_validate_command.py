"""``hati validate`` from outside, on tables; a program is validated in the how-to."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

Hati = Callable[..., Any]

STORE = ("--store", "sqlite:///store.sqlite")


def write_table(folder: Path, options: str, sizes: int) -> tuple[str, ...]:
    """A table in which a, b and c matter, and a and c together; the arguments that name it."""
    rows = [",".join([*options, "size", "latency"])]
    for *on, size in product(*[(0, 1)] * len(options), range(sizes)):
        noise = (7 * sum(2**i * flag for i, flag in enumerate(on)) + 5 * size) % 97 / 97 - 0.5
        log = 0.4 * on[0] - 0.2 * on[1] + 0.3 * on[0] * on[2] + 0.1 * size + 0.02 * noise
        rows.append(",".join(map(str, [*on, size, 10 * math.exp(log)])))
    (folder / "t.csv").write_text("\n".join(rows) + "\n")
    flags = "".join(f"[options.{name}]\nsettings = [0, 1]\n" for name in options)
    several = f"[options.size]\nsettings = {list(range(sizes))}\n" if sizes > 1 else ""
    (folder / "hati.toml").write_text(flags + several)
    return ("t.csv", "--space", "hati.toml", "--metric", "latency", *STORE)


def test_a_screening_is_validated_resumed_and_not_measured_twice(hati: Hati, tmp_path: Path) -> None:
    table = write_table(tmp_path, "abcdefg", 1)
    assert hati("screen", *table, "--budget", "16", "--resolution", "4").status == 0
    done = hati("validate", *table, "--format", "json", "--seed", "1")
    assert done.status == 0, done.err
    told = done.json
    assert (told["mode"], told["outcome"]) == ("discriminate", "decided")
    assert {tuple(effect) for effect in told["model"]} == {("a",), ("b",), ("c",), ("a", "c")}
    assert 4 <= told["runs"]["done"] <= 16
    assert told["runs"]["screening"] == 16
    assert {"statement", "result", "detail"} == set(told["assumptions"][0])
    again = hati("validate", *table, "--seed", "1", "--format", "markdown")
    assert "**decided" in again.out
    assert "--fresh" in again.err


def test_suspects_are_named(hati: Hati, tmp_path: Path) -> None:
    table = write_table(tmp_path, "abcdefg", 1)
    assert hati("screen", *table, "--budget", "16", "--resolution", "4").status == 0
    done = hati("validate", *table, "--options", "g, c", "--order", "2", "--budget", "12", "--format", "json")
    assert done.status == 0, done.err
    estimated = {tuple(effect["options"]) for effect in done.json["effects"]}
    assert done.json["mode"] == "dealias"
    assert {("a",), ("b",), ("c",), ("g",)} <= estimated
    assert ("c", "g") in estimated
    assert not any({"d", "e", "f"} & set(effect) for effect in estimated)
    squares = [effect["sum_of_squares"] for effect in done.json["effects"]]
    assert all(square >= 0.0 for square in squares)
    told = hati("validate", *table, "--options", "g,c", "--order", "2", "--budget", "12")
    assert "type III SS" in told.out
    assert "among effects of c, g alone" in " ".join(told.out.split())
    again = hati("validate", *table, "--options", "h")
    assert (again.status, "there is no option 'h' in the screening" in again.err) == (2, True)
    refused = hati("validate", *table, "--options", "g", "--mode", "discriminate")
    assert (refused.status, "`--options` needs `--mode dealias` or `--mode check`" in refused.err) == (2, True)


def test_a_screening_by_a_model_is_confirmed(hati: Hati, tmp_path: Path) -> None:
    table = write_table(tmp_path, "abc", 4)
    screened = hati("screen", *table, "--budget", "20", "--format", "json")
    assert screened.status == 0, screened.err
    assert screened.json["validation"] is None
    done = hati("validate", *table, "--budget", "6", "--format", "json")
    assert done.status == 0, done.err
    assert (done.json["mode"], done.json["runs"]["done"]) == ("confirm", 6)
    assert done.json["prediction"]["random"] == 4
    assert hati("screen", *table, "--budget", "20", "--format", "json").json["validation"] == done.json


def test_a_budget_in_time_is_as_many_runs_as_the_screening_made_in_it(hati: Hati, fake_project: Path) -> None:
    words = (".", "--metric", "latency")
    screened = hati("screen", *words, "--budget", "16", "--format", "json")
    assert screened.status == 0, screened.err
    each = screened.json["seconds"] / 16
    planned = hati("validate", *words, "--budget", f"{5.5 * each:.6f}s", "--dry-run", "--format", "json")
    assert planned.status == 0, planned.err
    assert len(planned.json["tasks"]) == 5
    short = hati("validate", *words, "--budget", f"{0.5 * each:.6f}s")
    assert (short.status, "longer than the budget" in short.err) == (2, True)


def test_lookups_have_no_budget_in_time(hati: Hati, tmp_path: Path) -> None:
    table = write_table(tmp_path, "abc", 4)
    assert hati("screen", *table, "--budget", "20").status == 0
    done = hati("validate", *table, "--budget", "1m")
    assert (done.status, "takes no time" in done.err) == (2, True)


def test_what_changed_since_the_screening_is_named_and_is_not_what_was_asked_for(
    hati: Hati, fake_project: Path
) -> None:
    words = (".", "--metric", "latency")
    assert hati("screen", *words, "--budget", "16", "--output", "asked.txt").status == 0
    (fake_project / "redirected.txt").write_text("what a shell wrote there")
    program = (fake_project / "subject.py").read_text()
    (fake_project / "subject.py").write_text(f"{program}# edited\n")
    done = hati("validate", *words, "--budget", "4")
    assert done.status == 2
    assert "(redirected.txt, subject.py modified since): its runs and new ones" in done.err
    line = 'sources = ["!redirected.txt"]'
    assert f"to exclude results, in [subject] of hati.toml: {line}" in done.err
    (fake_project / "subject.py").write_text(program)
    project = (fake_project / "hati.toml").read_text()
    (fake_project / "hati.toml").write_text(project.replace("[subject]\n", f"[subject]\n{line}\n"))
    assert hati("validate", *words, "--budget", "4", "--dry-run").status == 0
