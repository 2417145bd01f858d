"""After a screening that was narrowed to one setting of an option, other verbs say so and compare that part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gate_projects import evolving

if TYPE_CHECKING:
    from conftest import Hati

MORE = "".join(f'\n[options.more{place}]\nsettings = ["off", "on"]\n' for place in range(8))


def test_effects_are_compared_at_the_setting_that_the_screening_was_narrowed_to(
    tmp_path: Path, hati_here: Hati
) -> None:
    made = evolving(tmp_path, extra=MORE)
    made.commit(with_a=2500)
    made.commit(base=2_000_000, with_a=2500)
    done = hati_here("screen", "--budget", "40", "--format", "json")
    assert done.status == 0, done.err
    assert done.json["dominating"]["narrowed"]["setting"] == "off"
    report = " ".join(hati_here("report").out.split())
    assert "all runs were made at a=off" in report
    words = ("compare-effects", "HEAD~1", "HEAD", "--budget", "2 rounds")
    planned = hati_here(*words, "--dry-run")
    assert "over the configurations with a=off" in " ".join(planned.out.split())
    compared = hati_here(*words, "--format", "json").json
    assert [one["fixed"] for one in compared] == [{"a": "off"}] * 9
    assert ["a"] not in [one["options"] for one in compared]
    said = " ".join(hati_here(*words).out.split())
    assert "All configurations have a=off: effects are those there, and these options are not compared." in said
    suite = " ".join(hati_here("suite", "--runs", "4", "--budget", "8").out.split())
    assert "over the configurations with a=off" in suite
