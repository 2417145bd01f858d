"""Addresses of schedulers on the command line; campaigns at a scheduler are in acceptance/test_cluster_examples.py."""

from __future__ import annotations

from pathlib import Path

from conftest import Hati

SCREEN = ("screen", "--metric", "latency", "--budget", "18", "--format", "json", "--seed", "3")


def test_an_address_that_is_not_protected_is_refused(hati_here: Hati, fake_project: Path) -> None:
    done = hati_here(*SCREEN, "--engine", "tcp://192.0.2.1:8786")
    assert done.status == 2
    assert "tcp://192.0.2.1:8786 is not encrypted" in done.err
    assert "write tls://192.0.2.1:8786" in done.err


def test_a_missing_certificate_is_named(hati_here: Hati, fake_project: Path) -> None:
    done = hati_here(*SCREEN, "--engine", "tls://192.0.2.1:8786")
    assert done.status == 2
    assert "`distributed.comm.tls.ca-file` is not set" in done.err
    worker = hati_here("worker", "--scheduler", "dask://192.0.2.1:8786")
    assert worker.status == 2
    assert "DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in worker.err
