"""Builds are kept within their bound, whatever was left by processes that were killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hati.subject.revisions.trees import Tree
from hati.subject.running.builds import KeptBuilds

MAKING = """
import sys, time
from pathlib import Path
from hati.subject.running.builds import KeptBuilds

def build(place):
    place.mkdir()
    (place / "half").write_bytes(bytes(5000))
    print("half", flush=True)
    time.sleep(600)  # until it is killed

KeptBuilds(Path(sys.argv[1])).make("killed", build)
"""


def build(place: Path, size: int = 1000) -> Tree:
    place.mkdir()
    (place / "program").write_bytes(bytes(size))
    return Tree(place)


def builds(root: Path) -> set[str]:
    return {place.name for place in root.iterdir() if place.is_dir()}


def test_those_not_used_for_longest_make_room(tmp_path: Path) -> None:
    for name in "abc":
        KeptBuilds(tmp_path, 3500).make(name, build)
    assert KeptBuilds(tmp_path).find("a") == Tree(tmp_path / "a")
    KeptBuilds(tmp_path, 3500).make("d", build)
    assert builds(tmp_path) == {"a", "c", "d"}
    assert KeptBuilds(tmp_path).find("b") is None
    own = KeptBuilds(tmp_path, 500)
    for name in "ef":
        own.make(name, build)
    assert builds(tmp_path) == {"e", "f"}


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing(place: Path) -> Tree:
        build(place)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        KeptBuilds(tmp_path).make("a", failing)
    assert builds(tmp_path) == set()


def test_what_a_killed_process_left_goes_and_what_another_is_making_stays(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", MAKING, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        KeptBuilds(tmp_path).make("a", build)
        assert builds(tmp_path) == {"a", "killed"}
        process.send_signal(signal.SIGKILL)
    (tmp_path / "of before").mkdir()
    own = KeptBuilds(tmp_path)
    own.make("b", build)
    assert builds(tmp_path) == {"a", "b"}
    assert own.find("killed") is None


def test_leftovers_go_before_a_build_that_may_need_their_room(tmp_path: Path) -> None:
    build(tmp_path / "left")

    def failing(place: Path) -> Tree:
        assert not (tmp_path / "left").exists()
        raise OSError

    with pytest.raises(OSError):
        KeptBuilds(tmp_path).make("a", failing)
