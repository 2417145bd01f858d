"""The kept script: bundled once, believed only where it is whole, and not needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import vl_convert

from hati.render.charts import chart_script


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The bundles made, with a bundler that takes no time and a cache of the test's own."""
    made: list[str] = []

    def bundle(*_: object, **__: object) -> str:
        made.append(f"script {len(made)};\n\u00d7")
        return made[-1]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    chart_script.cache_clear()
    yield made
    chart_script.cache_clear()


def in_another_process() -> str:
    chart_script.cache_clear()
    return chart_script()


def test_a_machine_bundles_once(bundled: list[str], tmp_path: Path) -> None:
    assert in_another_process() == in_another_process() == bundled[0]
    assert len(bundled) == 1
    assert len(list((tmp_path / "cache" / "hati").iterdir())) == 1


@pytest.mark.parametrize("damage", [lambda kept: kept[:-1], lambda kept: b"", lambda kept: kept + b"alert(1)"])
def test_what_is_damaged_is_bundled_again(bundled: list[str], tmp_path: Path, damage: object) -> None:
    in_another_process()
    (file,) = (tmp_path / "cache" / "hati").iterdir()
    assert callable(damage)
    file.write_bytes(damage(file.read_bytes()))
    assert in_another_process() == bundled[1]
    assert in_another_process() == bundled[1]


def test_a_cache_that_cannot_be_made_costs_only_time(bundled: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    assert in_another_process() == bundled[0]
    assert in_another_process() == bundled[1]
