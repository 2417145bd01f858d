"""``hati probe`` from outside, with real kernels where they are quick."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hati.cli import main
from hati.core import MeasurementError
from hati.wiring import probing

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HATI_STORE", raising=False)
    monkeypatch.setenv("HATI_STORE", str(tmp_path / "store.sqlite"))


def said(capture: Capture, *arguments: str, status: int = 0) -> tuple[str, str]:
    assert main(arguments) == status, capture.readouterr().err
    found = capture.readouterr()
    return found.out, found.err


def test_a_domain_is_measured_kept_and_reused(capfd: Capture) -> None:
    out, err = said(capfd, "probe", "clock", "--quick")
    assert "clock.cost" in out
    assert "[1/1] clock.reading" in err
    again, err = said(capfd, "probe", "measure", "clock", "--quick", "--format", "json")
    assert not err
    found = json.loads(again)
    assert found["format"] == "hati-probe-1"
    (one,) = found["experiments"]
    assert one["reused"]
    assert one["method"] == "back-to-back-1"
    assert 1.0 < one["properties"][0]["value"] < 1e5
    _, err = said(capfd, "probe", "clock", "--quick", "--max-age", "0")
    assert "clock.reading" in err
    out, _ = said(capfd, "runs")
    assert "2 runs." in out


def test_a_quick_result_does_not_serve_a_longer_measurement(capfd: Capture) -> None:
    said(capfd, "probe", "clock", "--quick")
    assert "clock.reading" in said(capfd, "probe", "clock")[1]
    assert not said(capfd, "probe", "clock", "--quick")[1]


def test_what_is_refused_has_its_reason_and_the_rest_is_reported(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = probing.execute

    def refusing(name, setting, inputs):
        if name == "net.loopback":
            raise MeasurementError("there is no loopback")
        return execute(name, setting, inputs)

    monkeypatch.setattr(probing, "execute", refusing)
    out, _ = said(capfd, "probe", "net", "clock", "--quick")
    assert "net.loopback: there is no loopback" in out
    assert "clock.cost" in out
    _, err = said(capfd, "probe", "net", "--quick", status=4)
    assert "nothing was measured: net.loopback: there is no loopback" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cpus"], "there is no experiment or domain 'cpus'"),
        (["cpu", "--given", "cpu.rate"], "is not NAME=VALUE"),
        (["cpu", "--given", "cpu.rate=-1"], "is not a positive number"),
        (["cpu", "--given", "cpu.quota=50"], "is not an input"),
        (["cpu", "--max-age", "yesterday"], "is not a valid duration"),
        (["disk", "--folder", "nowhere"], "is not a folder"),
    ],
)
def test_what_is_asked_wrongly_is_refused(capfd: Capture, words: list[str], message: str) -> None:
    assert message in said(capfd, "probe", *words, status=2)[1]


def test_without_a_compiler_nothing_is_measured(capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "there is no C compiler `no-such-compiler`" in said(capfd, "probe", "clock", status=4)[1]
