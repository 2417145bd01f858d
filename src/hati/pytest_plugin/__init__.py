"""The pytest plugin: ``pytest --hati`` measures the methods of formulas, and reports each formula as a test.

Without ``--hati`` it adds only the fixture ``spl``, and loads nothing else of Hati.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hati.python import Once

__all__ = ["pytest_addoption", "pytest_configure", "spl"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options."""
    group = parser.getgroup("hati", "performance requirements")
    group.addoption(
        "--hati", action="store_true", help="measure what *.spl files and @hati.spl state, each formula as a test"
    )
    group.addoption(
        "--hati-inconclusive",
        choices=("pass", "fail", "xfail"),
        default="fail",
        help="what becomes of a formula that is neither shown to hold nor to be violated [default: fail]",
    )
    group.addoption(
        "--hati-budget",
        metavar="RUNS|TIME",
        default="5m",
        help="what measuring the formulas of a project may cost: runs, or a time [default: 5m]",
    )
    group.addoption("--hati-fresh", action="store_true", help="repeat measurements of the same code and formulas")


def pytest_configure(config: pytest.Config) -> None:
    """Collect formulas if the options request it.

    Raises:
        UsageError: where tests would run in parallel to measurements, and for a malformed budget.
    """
    if not config.getoption("hati"):
        return
    if _in_parallel(config):
        raise pytest.UsageError("--hati measures, and parallel tests would disturb it: leave out -n, or write -n0")
    from hati.core import Budget, InputError

    try:
        Budget.parse(config.getoption("hati_budget"))
    except InputError as error:
        raise pytest.UsageError(f"--hati-budget: {error}") from None
    from hati.pytest_plugin.collecting import Formulas

    config.pluginmanager.register(Formulas(), "hati-formulas")


@pytest.fixture
def spl() -> Once:
    """The argument of a function under ``@hati.measured`` in a test of its behaviour: one round, without timing."""
    from hati.python import Once

    return Once()


def _in_parallel(config: pytest.Config) -> bool:
    """Whether xdist distributes the tests."""
    return bool(config.getoption("numprocesses", None)) or config.getoption("dist", "no") != "no"
