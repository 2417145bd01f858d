"""The page in Chromium, by its keyboard: from a file to the same file with edits."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from webdriver import Browser, browser, missing

from interrupts import heeding_signals

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

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {missing()}"),
    pytest.mark.xdist_group("chromium"),
]


@contextmanager
def editing(file: Path, package: Path | None = None) -> Iterator[str]:
    """The address of the page of `hati probe edit`, which ends afterwards by Ctrl-C; a package may be installed."""
    command = [sys.executable, "-m", "hati", "probe", "edit", str(file)]
    paths = os.pathsep.join(filter(None, [str(package or ""), os.environ.get("PYTHONPATH", "")]))
    own = {**os.environ, "PYTHONPATH": paths}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=own, preexec_fn=heeding_signals) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().removeprefix("open ").strip()
        finally:
            process.send_signal(signal.SIGINT)
            try:
                assert process.wait(60) == 130
            finally:
                process.kill()


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
        wrong = (
            "return [...document.querySelectorAll('[aria-invalid=true] > .wrong')]"
            ".map((each) => each.parentElement.ariaLabel)"
        )
        assert page.script(wrong) == ["loop"]
        assert "the key `task` is missing" in page.script(
            "return document.querySelector('[aria-invalid=true] > .wrong').textContent"
        )
        page.keys("a", "cpu", "Enter")
        page.wait(lambda: focused(page) == "cpu, kernel fibonacci", "a CPU load is added")
        assert page.script(wrong) == ["loop", "cpu, kernel fibonacci"]
        problems = page.script("return document.getElementById('problem').textContent").split("\n")
        assert problems[0] == (
            "spin.yaml:14:11: a CPU load needs either a demand or a number of units; give `demand_ms` or `units`"
        )
        assert problems[1].startswith("spin.yaml:13:11: an endless loop that nothing stops; give it `count`")
        tab_to(page, "demand_ms")
        page.keys("5", "Tab")
        page.wait(lambda: page.script(wrong) == ["loop"], "the CPU load is valid, the loop endless")
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


WRONG = """\
name: wrong
machines: [here]
roles:
  - name: only
    machine: hare
    task:
      do: sequence
      tasks:
        - {do: cpu, kernel: spin, demand_ms: -1, nice: 50}
        - {do: cpu, kernel: sort, units: 1}
        - {do: memory, access: chase, bytes: 1}
"""


def test_every_error_is_shown_at_its_node(chromium: Browser, tmp_path: Path) -> None:
    page, file = chromium, tmp_path / "wrong.yaml"
    file.write_text(WRONG)
    shown = (
        "return [...document.querySelectorAll('[aria-invalid=true] > .wrong')].map("
        "(each) => [each.parentElement.ariaLabel.split(',')[0], each.textContent,"
        " document.getElementById(each.parentElement.getAttribute('aria-describedby')) === each])"
    )
    with editing(file) as address:
        opened(page, address)
        negative = "-1 ms is not a demand; give 0.001 to 600,000 ms, which is 10 minutes"
        assert page.script(shown) == [
            ["machine task set", "there is no machine 'hare'; did you mean 'here'?", True],
            ["cpu", f"50 is not a niceness; give one from -20 to 19\n{negative}", True],
            ["memory", "a memory load in 1 bytes; give 512 to 1,099,511,627,776", True],
        ]
        lines = page.script("return document.getElementById('problem').textContent").split("\n")
        assert [line.split(": ")[0] for line in lines] == [
            "wrong.yaml:5:14",
            "wrong.yaml:9:56",
            "wrong.yaml:9:46",
            "wrong.yaml:11:46",
        ]
        page.keys("End", "ArrowUp", "ArrowUp")
        field = "return document.querySelector('[name={}] ~ .wrong')?.textContent"
        assert page.script(field.format("demand_ms")) == negative
        tab_to(page, "demand_ms")
        page.keys("Control+a", "5", "Tab")
        page.wait(lambda: page.script(field.format("demand_ms")) is None, "one is corrected")
        assert len(page.script(shown)) == 3
    assert page.messages() == []


def text_of(page: Browser) -> str:
    return str(page.script("return document.getElementById('text').textContent"))


def opened(page: Browser, address: str) -> None:
    page.open(address)
    page.wait(lambda: focused(page).startswith("task set"), "the tree has the focus")


THREE = """\
name: three
machines: [here]
roles:
  - name: only
    machine: here
    task:
      do: sequence
      tasks:
        # a loop
        - do: loop
          count: 2
        - {do: cpu, kernel: spin, demand_ms: 1, name: one}   # one
        - {do: cpu, kernel: spin, demand_ms: 2, name: two}   # two
"""
ONE, TWO = (line for line in THREE.splitlines(keepends=True) if "cpu" in line)


def test_the_address_without_its_token_is_explained(chromium: Browser, tmp_path: Path) -> None:
    page, file = chromium, tmp_path / "three.yaml"
    file.write_text(THREE)
    with editing(file) as address:
        page.open(address.partition("#")[0])
        problem = "return document.getElementById('problem').textContent"
        page.wait(lambda: "open that one" in page.script(problem), "refused")
        assert "three" not in page.script("return document.body.innerText")
        opened(page, address)
        page.script("location.reload()")
        page.wait(lambda: focused(page).startswith("task set"), "it may be loaded again")
    page.messages()


def test_tasks_are_moved_by_keyboard(chromium: Browser, tmp_path: Path) -> None:
    page, file = chromium, tmp_path / "three.yaml"
    file.write_text(THREE)
    with editing(file) as address:
        opened(page, address)
        page.keys("End", "Alt+ArrowUp")
        page.wait(lambda: text_of(page) == THREE.replace(ONE + TWO, TWO + ONE), "up")
        assert focused(page).startswith("cpu, two")
        page.keys("Alt+ArrowDown")
        page.wait(lambda: text_of(page) == THREE, "down")
        page.keys("ArrowUp", "Alt+ArrowRight")
        inside = "          task: {do: cpu, kernel: spin, demand_ms: 1, name: one}   # one\n"
        page.wait(lambda: text_of(page) == THREE.replace(ONE, inside), "into the loop above")
        assert focused(page).startswith("cpu, one")
        page.keys("Alt+ArrowLeft")
        page.wait(lambda: text_of(page) == THREE, "out again")
        page.keys("a", "parallel", "Tab", "Tab", "Enter")
        around = f"        - do: parallel\n          tasks:\n    {ONE}"
        page.wait(lambda: text_of(page) == THREE.replace(ONE, around), "a parallel around it")
        page.keys("Escape", "Control+z")
        page.wait(lambda: text_of(page) == THREE, "undone at once")
        page.keys("ArrowUp", "Home", "ArrowLeft", "ArrowDown")
        assert focused(page) == "task set, three", "closed"
        page.keys("ArrowRight", "ArrowRight")
        assert focused(page) == "machine task set, only · machine here"


def test_tasks_are_dragged(chromium: Browser, tmp_path: Path) -> None:
    page, file = chromium, tmp_path / "three.yaml"
    file.write_text(THREE)
    row = '[data-path=\'["roles",0,"task","tasks",{}]\'] > .row'
    with editing(file) as address:
        opened(page, address)
        page.drag(row.format(2), row.format(1), 0.1)
        page.wait(lambda: text_of(page) == THREE.replace(ONE + TWO, TWO + ONE), "before the other")
        page.drag(row.format(1), row.format(0), 0.5)
        page.wait(
            lambda: "task: {do: cpu, kernel: spin, demand_ms: 2, name: two}   # two" in text_of(page), "into the loop"
        )
        page.drag(row.format(0), row.format(1), 0.9)
        page.wait(lambda: text_of(page).index("# one") < text_of(page).index("# a loop"), "after the other")


def test_attributes(chromium: Browser, tmp_path: Path) -> None:
    page, file = chromium, tmp_path / "three.yaml"
    file.write_text(THREE.replace("count: 2", "count: 2\n          task: {do: cpu, kernel: wait, demand_ms: 1}"))
    with editing(file) as address:
        opened(page, address)
        page.keys("End")
        tab_to(page, "sensors")
        page.keys(" ", "Tab", "Tab", " ")
        page.wait(lambda: "name: two, sensors: [cpu, response]}" in text_of(page), "two sensors")
        page.keys(" ", "Escape")
        page.wait(lambda: "name: two, sensors: [cpu]}" in text_of(page), "one sensor")
        tab_to(page, "demand_ms")
        page.keys("long", "Tab")
        wrong = "return document.querySelector('[name=demand_ms] ~ .wrong')?.textContent"
        page.wait(
            lambda: page.script(wrong) == "`demand_ms` is 'long'; write a number", "a text is refused at its field"
        )
        page.keys("Escape", "Control+z")
        page.wait(lambda: page.script(wrong) is None, "undone")
        page.keys("Home", "ArrowDown", "ArrowDown", "ArrowDown")
        page.wait(lambda: focused(page) == "loop, count 2", "the loop")
        page.script("document.querySelector('fieldset button:not([name])').focus()")
        for _ in range(20):
            if page.script("return document.activeElement.textContent") == "Add until":
                break
            page.keys("Tab")
        page.keys("Enter")
        page.wait(lambda: "until: {}" in text_of(page), "attributes of an attribute")
        tab_to(page, "margin")
        page.keys("0.02", "Tab")
        page.wait(lambda: "until: {margin: 0.02}" in text_of(page), "one of them")


def test_it_is_a_tree_for_assistive_technology(chromium: Browser, tmp_path: Path) -> None:
    page, file = chromium, tmp_path / "three.yaml"
    file.write_text(THREE)
    with editing(file) as address:
        opened(page, address)
        page.keys("End")
        assert page.role("#tree") == ("tree", "Tasks")
        assert page.role("[aria-selected=true]") == ("treeitem", "cpu, two · kernel spin, demand_ms 2")
        items = page.script(
            "const items = [...document.querySelectorAll('[role=treeitem]')];"
            "return items.map((each) => [each.ariaLevel, each.ariaExpanded, each.tabIndex])"
        )
        assert items == [
            ["1", "true", -1],
            ["2", "true", -1],
            ["3", "true", -1],
            ["4", None, -1],
            ["4", None, -1],
            ["4", None, 0],
        ]
        count = page.script(
            "const controls = [...document.querySelectorAll('input, select, textarea, button')];"
            "return controls.map((each, number) => each.dataset.number = number).length"
        )
        assert count > 15
        assert all(page.role(f"[data-number='{number}']")[1] for number in range(count)), "each control has a name"


def test_a_conflict_is_shown(chromium: Browser, tmp_path: Path) -> None:
    page, file = chromium, tmp_path / "three.yaml"
    file.write_text(THREE)
    with editing(file) as address:
        opened(page, address)
        page.keys("End", "Delete")
        page.wait(lambda: "two" not in text_of(page), "removed")
        file.write_text(THREE.replace("three", "four"))
        page.keys("Control+s")
        problem = "return document.getElementById('problem').textContent"
        page.wait(lambda: "three.yaml has changed on disk" in page.script(problem), "refused")
        page.script("document.getElementById('reload').focus()")
        page.keys("Enter")
        page.wait(lambda: "name: four" in text_of(page), "read again")
    assert file.read_text() == THREE.replace("three", "four")
    assert [each for each in page.messages() if "409" not in each] == []


PACKAGE = """\
from msgspec import Struct
from hati.generate import CodeLoad

class Pipe(Struct):
    "Bytes through a pipe."
    bytes: int

    def code(self) -> CodeLoad:
        return CodeLoad("going_on;")
"""


def test_kinds_of_packages_are_offered(chromium: Browser, tmp_path: Path) -> None:
    page, file, package = chromium, tmp_path / "three.yaml", tmp_path / "package"
    file.write_text(THREE)
    about = package / "third_party-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[hati.tasks]\npipe = pipes:Pipe\n")
    (package / "pipes.py").write_text(PACKAGE)
    with editing(file, package) as address:
        opened(page, address)
        page.keys("End", "a", "pipe", "Enter")
        page.wait(
            lambda: text_of(page) == THREE + "        - do: pipe\n          bytes: 1\n", "added after the CPU load"
        )
        assert page.script("return document.getElementById('about').textContent") == "Bytes through a pipe."
        page.keys("a", "pi", "Escape")


def test_a_new_file_and_shared_tasks(chromium: Browser, tmp_path: Path) -> None:
    page, file = chromium, tmp_path / "new.yaml"
    with editing(file) as address:
        opened(page, address)
        page.keys("a", "machine", "Enter")
        page.wait(lambda: focused(page) == "machine task set, machine here", "a machine task set")
        page.keys("Home", "a", "cpu", "Enter")
        page.wait(lambda: focused(page) == "task1: cpu, kernel fibonacci", "a shared task")
        page.script("document.getElementById('field-key').select(); document.getElementById('field-key').focus()")
        page.keys("work", "Tab")
        page.wait(lambda: "tasks:\n  work:\n    do: cpu\n    kernel: fibonacci\n" in text_of(page), "renamed")
        page.keys("Escape", "Control+s")
        page.wait(file.exists, "saved, although it is not valid yet")


def test_the_example_of_the_how_to(chromium: Browser, tmp_path: Path) -> None:
    page, file = chromium, tmp_path / "two-spinners.yaml"
    how_to = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "run-an-experiment.md"
    text = re.findall(r'```yaml title="two-spinners.yaml"\n(.*?)```', how_to.read_text(), re.DOTALL)[0]
    file.write_text(text)
    with editing(file) as address:
        opened(page, address)
        assert page.script("return document.getElementById('problem').textContent") == ""
        page.keys("Control+s")
        page.wait(lambda: page.script("return document.getElementById('status').textContent") == "Saved.", "saved")
    assert file.read_text() == text
