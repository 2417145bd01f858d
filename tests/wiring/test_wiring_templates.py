"""Configurations by ``--set``: an option that is inactive by default is never left out in silence."""

from __future__ import annotations

import pytest

from hati.core import InputError
from hati.space import Option, Space, parse_formula
from hati.wiring.templates import parse_configuration, template_configurations

SPACE = Space(
    (
        Option("compress", (False, True), False),
        Option("level", (1, 3, 9), 1, active_if=parse_formula("compress")),
        Option("dict", (False, True), False, active_if=parse_formula("level >= 3")),
    ),
)


def chosen(*texts: str) -> tuple[list[dict[str, object]], list[str]]:
    said = list[str]()
    return [dict(each) for each in template_configurations(SPACE, texts, said.append)], said


def test_what_an_inactive_option_depends_on_is_set_too_and_said() -> None:
    found, said = chosen("dict=true")
    assert found == [{"compress": True, "level": 3, "dict": True}]
    assert said == ["dict=true needs other settings than the default ones; instead: compress=true level=3 dict=true"]


def test_each_setting_of_an_inactive_option_is_measured() -> None:
    found, _ = chosen("level=3", "level=9")
    assert [each["level"] for each in found] == [3, 9]


def test_settings_that_exclude_each_other_are_an_error() -> None:
    with pytest.raises(InputError, match="no valid configuration has"):
        chosen("dict=true", "compress=false")


def test_where_one_configuration_is_wanted_it_is_refused() -> None:
    with pytest.raises(InputError, match="'dict' is inactive in the configuration") as raised:
        parse_configuration(SPACE, "dict=true")
    assert "level >= 3" in (raised.value.fix or "")
    assert parse_configuration(SPACE, "compress=true,level=9,dict=true")["dict"] is True
