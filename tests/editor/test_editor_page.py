"""The page in Chromium, by its keyboard: from a file to the same file with edits."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from webdriver import Browser, browser, missing

TEXT = """\
# How long is a timeslice?
name: two-spinners
machines: [here]

roles:
  - name: both
    machine: here
    task:
      do: sequence
      tasks:
        # the first
        - {do: cpu, kernel: spin,   demand_ms: 10, name: one}   # enough
"""

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"not installed: {missing()}")


@contextmanager
def editing(file: Path) -> Iterator[str]:
    """The address of the page of `hati probe edit`, which ends afterwards by Ctrl-C."""
    command = [sys.executable, "-m", "hati", "probe", "edit", str(file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().removeprefix("open ").strip()
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as found:
        yield found


def focused(page: Browser) -> str:
    return str(page.script("return document.activeElement.getAttribute('aria-label') ?? document.activeElement.id"))


def tab_to(page: Browser, name: str) -> None:
    """Go from the tree to an attribute, by the keyboard."""
    page.keys("Enter")
    for _ in range(30):
        if page.script("return document.activeElement.name") == name:
            return
        page.keys("Tab")
    raise AssertionError(f"there is no attribute {name}")


def test_a_loop_is_added_by_keyboard(chromium: Browser, tmp_path: Path) -> None:
    page, file = chromium, tmp_path / "spin.yaml"
    file.write_text(TEXT)
    with editing(file) as address:
        page.open(address)
        page.wait(lambda: focused(page) == "task set, two-spinners", "the tree has the focus")
        page.keys("ArrowDown", "ArrowDown")
        assert focused(page) == "sequence"
        page.keys("a", "loop", "Enter")
        page.wait(lambda: focused(page) == "loop", "a loop is added")
        wrong = "return document.querySelector('[aria-invalid=true] > .wrong')?.parentElement.ariaLabel"
        assert page.script(wrong) == "loop"
        assert "the key `task` is missing" in page.script("return document.getElementById('wrong').textContent")
        page.keys("a", "cpu", "Enter")
        page.wait(lambda: focused(page) == "cpu, kernel fibonacci", "a CPU load is added")
        assert page.script(wrong) == "cpu, kernel fibonacci"
        problem = page.script("return document.getElementById('problem').textContent")
        assert problem == (
            "spin.yaml:14:11: a CPU load needs either a demand or a number of units; give `demand_ms` or `units`"
        )
        tab_to(page, "demand_ms")
        page.keys("5", "Tab")
        page.wait(lambda: page.script(wrong) == "loop", "the CPU load is valid, the loop endless")
        page.keys("Escape", "ArrowLeft")
        assert focused(page) == "loop"
        tab_to(page, "count")
        page.keys("3", "Tab")
        page.wait(lambda: not page.script(wrong), "nothing is wrong")
        page.keys("Escape", "ArrowUp", "Delete")
        page.wait(lambda: "one" not in page.script("return document.getElementById('tree').innerText"), "removed")
        page.keys("Control+z")
        page.wait(lambda: "one" in page.script("return document.getElementById('tree').innerText"), "undone")
        page.keys("Control+s")
        page.wait(lambda: page.script("return document.getElementById('status').textContent") == "Saved.", "saved")
    assert file.read_text() == TEXT + (
        "        - do: loop\n"
        "          count: 3\n"
        "          task:\n"
        "            do: cpu\n"
        "            kernel: fibonacci\n"
        "            demand_ms: 5\n"
    )
    assert page.messages() == []
