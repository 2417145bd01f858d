"""What this machine has of the settings that machines have."""

from __future__ import annotations

from pathlib import Path

import pytest

from hati.core import InputError, Machine, MachineOption, Place
from hati.space import Option
from hati.wiring.machine_options import attributes_of

MACHINE = Machine.of({"name": "m", "architecture": "x86_64"})
COMPILER = Option("compiler", ("sh", "no-such-program"), "sh")
HERE = Place("hati.toml", 3, 7)


def found(folder: Path, *command: str) -> tuple[str, ...]:
    """The settings of the option that a command finds."""
    option = MachineOption("compiler", "compiler", command, HERE)
    [(_, had)] = attributes_of(MACHINE, [option], [COMPILER], folder)
    return had


def test_a_property_is_the_state_of_the_machine(tmp_path: Path) -> None:
    option = MachineOption("arch", "architecture")
    assert attributes_of(MACHINE, [option], [Option("arch", ("x86_64", "arm"), "arm")], tmp_path) == (
        ("architecture", ("x86_64",)),
    )


def test_a_command_is_started_in_the_folder_of_the_project(tmp_path: Path) -> None:
    script = tmp_path / "version.sh"
    script.write_text("#!/bin/sh\necho sh\n")
    script.chmod(0o755)
    assert found(tmp_path, "./version.sh") == ("sh",)


def test_a_setting_that_names_a_program_is_there_if_it_starts(tmp_path: Path) -> None:
    assert found(tmp_path, "{}", "-c", "true") == ("sh",)


def test_doubled_braces_are_single_ones_in_every_command(tmp_path: Path) -> None:
    assert found(tmp_path, "echo", "{{x}}") == ("{x}",)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("no-such-compiler", "-v"), "cannot start `no-such-compiler`: No such file or directory"),
        (("no-such-compiler", "{}"), "cannot start `no-such-compiler`: No such file or directory"),
        (("sh", "-c", "exit 3"), "`sh` ended with status 3"),
    ],
)
def test_a_command_that_fails_is_an_error_with_its_place(
    tmp_path: Path, command: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError) as raised:
        found(tmp_path, *command)
    assert (raised.value.message, raised.value.place) == (f"option 'compiler': {message}", HERE)
