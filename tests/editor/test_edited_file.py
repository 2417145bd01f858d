"""The file under the editor: opening, and saving as a whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from ruamel.yaml import YAML

from hati.cli import main
from hati.core import InputError
from hati.editor import EditedFile
from hati.generate import parse_task_set
from hati.generate.editing import InsertValue, SetValue
from interrupts import heeding_signals


def opened(file: Path) -> EditedFile:
    return EditedFile(file, parse_task_set)


def test_a_new_file_in_a_folder_that_cannot_be_written_is_refused_before_anything_is_composed() -> None:
    with pytest.raises(InputError, match=r"/proc.*; name a file in another folder"):
        opened(Path("/proc/new.yaml"))


def test_a_new_file_is_created_when_it_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "new: one.yaml"
    editing = opened(file)
    state = editing.state()
    assert state.changed
    assert not file.exists()
    assert [each.message for each in state.problems] == ["there are no machine task sets"]
    task = {"do": "cpu", "kernel": "spin", "demand_ms": 1}
    editing.edit([InsertValue(("roles", 0), {"name": "r", "machine": "here"}), InsertValue(("roles", 0, "task"), task)])
    assert not editing.save().problems
    assert parse_task_set(file.read_text()).name == "new: one"
    other = tmp_path / "other"
    other.touch()
    assert oct(file.stat().st_mode) == oct(other.stat().st_mode)


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    file, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    file.write_text("name: a\n")
    file.chmod(0o640)
    link.symlink_to(file.name)
    editing = opened(link)
    editing.edit([SetValue(("name",), "b")])
    editing.save()
    assert link.is_symlink()
    assert (file.read_text(), oct(file.stat().st_mode & 0o777)) == ("name: b\n", "0o640")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.yaml", "real.yaml"]


def test_a_save_that_cannot_be_done_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("name: a\n")
    editing = opened(file)
    editing.edit([SetValue(("name",), "b")])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write a\.yaml: No space left on device"):
        editing.save()
    assert file.read_text() == "name: a\n"
    assert [each.name for each in tmp_path.iterdir()] == ["a.yaml"]
    assert editing.state().changed


def test_each_text_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, compose = list[str](), YAML.compose

    def counted(self: YAML, text: str) -> object:
        read.append(text)
        return compose(self, text)

    monkeypatch.setattr(YAML, "compose", counted)
    file = tmp_path / "a.yaml"
    file.write_text("name: read once\n")
    assert opened(file).edit([SetValue(("name",), "and once more")]).problems
    assert read == ["name: read once\n", "name: and once more\n"]


@pytest.mark.parametrize("change", ["edited", "removed", "created"])
def test_changes_on_disk_are_seen(tmp_path: Path, change: str) -> None:
    file = tmp_path / "a.yaml"
    if change != "created":
        file.write_text("name: a\n")
    editing = opened(file)
    editing.edit([SetValue(("name",), "mine")])
    if change == "removed":
        file.unlink()
    else:
        file.write_text("name: theirs\n")
    with pytest.raises(InputError, match="has changed on disk since it was opened"):
        editing.save()
    assert file.exists() == (change != "removed")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name: [", r"a\.yaml:1:8: not YAML"),
        (b"", r"a\.yaml:1:1: a task set is a mapping"),
        (b"- a\n", r"a\.yaml:1:1: a task set is a mapping"),
        (b"a: 1\r\nb: 2\nc: 3\r\n", r"a\.yaml:2: some lines end with \\r\\n, this one with \\n; end all with \\n"),
        (b"\xff\xfe", r"a\.yaml: cannot read it: it is not UTF-8"),
        (b"a: &x 1\nb: *x\n", r"a\.yaml:2:4: the alias `\*x`"),
        (b"a: {1: b}\n", r"a\.yaml:1:5: the key `1` is not text"),
        (b"a: {? [b] : c}\n", r"a\.yaml:1:7: the key `\[b\]` is not text"),
        (b'name: "\\uD800"\n', r"a\.yaml:1:7: '\\ud800' is half of a character; write the character itself"),
    ],
)
def test_what_has_no_tree_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        opened(file)


def test_the_command_refuses_it_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("name: a\nroles: [\n")
    assert main(["probe", "edit", str(file)]) == 2
    assert f"{file}:3:1: not YAML" in capsys.readouterr().err


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read it: Is a directory"):
        opened(tmp_path)


def test_a_file_in_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no folder .*/missing; create it, or name another file"):
        opened(tmp_path / "missing" / "a.yaml")


def test_saving_leaves_the_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(_: int) -> int:
        raise AssertionError("other threads would create files with it")

    monkeypatch.setattr(os, "umask", changed)
    opened(tmp_path / "a.yaml").save()


@pytest.mark.parametrize(("edits", "said"), [(2, "not saved: a.yaml\ninterrupted\n"), (0, "interrupted\n")])
def test_edits_that_are_lost_are_reported(tmp_path: Path, edits: int, said: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("name: a\n")
    command = [sys.executable, "-m", "hati", "probe", "edit", file.name]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heeding_signals
    ) as process:
        assert process.stderr is not None
        try:
            page, _, token = process.stderr.readline().removeprefix("open ").strip().partition("/#")
            headers = {"Authorization": f"Bearer {token}", "Origin": page, "Content-Type": "application/json"}
            body = json.dumps([{"edit": "set", "path": ["name"], "value": f"b{n}"} for n in range(edits)])
            with build_opener(ProxyHandler({})).open(Request(f"{page}/edit", body.encode(), headers)) as answer:
                assert json.load(answer)["changed"] == bool(edits)
        finally:
            process.send_signal(signal.SIGINT)
        assert process.stderr.read() == f"Ctrl-C ends the editor\n{said}"
