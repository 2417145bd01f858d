"""``hati import``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hati = Callable[..., Any]

FIXTURES = Path(__file__).parents[1] / "subject/samples/fixtures"


def test_what_is_imported_is_written_as_samples_and_read_again(hati: Hati, tmp_path: Path) -> None:
    first = hati("import", str(FIXTURES / "jmh.json"))
    assert first.status == 0
    assert first.json["format"] == "hati-samples-1"
    assert [len(sample["runs"]) for sample in first.json["samples"]] == [2] * 20
    (tmp_path / "a.json").write_text(first.out)
    assert hati("import", "a.json", "--output", "b.json").status == 0
    assert (tmp_path / "b.json").read_text() == first.out


def test_warnings_are_on_standard_error(hati: Hati) -> None:
    done = hati("import", str(FIXTURES / "catch2.xml"))
    assert (done.status, done.json["samples"][0]["runs"]) == (
        0,
        [{"warmup": 0, "mean_of": 1, "observations": [659.987]}],
    )
    assert done.err.startswith("warning: Catch2 gives means")
    assert hati("import", str(FIXTURES / "custom.json")).json["samples"][0]["runs"][0]["mean_of"] == "unknown"


@pytest.mark.parametrize("kept", [None, "what was there"])
def test_nothing_is_half_imported(hati: Hati, tmp_path: Path, kept: str | None) -> None:
    shutil.copy(FIXTURES / "go.txt", tmp_path / "good.txt")
    (tmp_path / "bad.json").write_text(json.dumps({"samples": [{"benchmark": 5}]}))
    if kept:
        (tmp_path / "out.json").write_text(kept)
    done = hati("import", "good.txt", "bad.json", "--output", "out.json")
    assert (done.status, done.out) == (2, "")
    assert done.err == "error: bad.json at samples[0].benchmark: 5 stands where text is needed\n"
    assert ((tmp_path / "out.json").read_text() if kept else (tmp_path / "out.json").exists()) == (kept or False)
    assert len(list(tmp_path.iterdir())) == 2 + bool(kept)


def test_missing_files_and_formats_are_told(hati: Hati, tmp_path: Path) -> None:
    assert hati("import", "none.json").err.startswith(
        "error: none.json: there is no such file; relative paths begin at /"
    )
    (tmp_path / "prose").write_text("nothing\n")
    done = hati("import", "prose")
    assert done.status == 2
    assert "prose:1: the format of this file is not known; name the format by hati import --from" in done.err
    assert hati("import", "prose", "--from", "xyz").status == 2


def test_a_file_that_cannot_be_read_says_what_to_do(tmp_path: Path, hati: Hati) -> None:
    (tmp_path / "results.json").touch()
    for file, reason in (
        ("result.json", "there is no such file; did you mean 'results.json'?"),
        ("results.json", "the file is empty; write the measurements to it again"),
    ):
        for verb in (("import",), ("harness", "steady")):
            done = hati(*verb, file)
            assert (done.status, reason in done.err) == (2, True), done.err
    assert "this is a folder; name a file in it" in hati("history", str(tmp_path)).err
