"""Options: what can be set, to what, and how settings are read from text."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hati.core import InputError, Setting, setting_text
from hati.core.values import type_names
from hati.core.wording import suggestion
from hati.space.constraint import Constraint, OptionKind

_LARGEST = 2**63
_LONGEST_NAME = 200


class OptionError(InputError):
    """An option that cannot be; ``part`` says which field is wrong, ``index`` which setting, from 0."""

    def __init__(self, message: str, part: str, *, index: int | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.part = part
        self.index = index


@dataclass(frozen=True)
class Option:
    """An option, its discrete settings, and where it matters.

    Where ``active_if`` does not hold, the option is inactive: without influence, and not part of a
    configuration. ``kind`` follows from the settings; ``unit`` and ``doc`` are for people.

    Raises:
        OptionError: for settings of several types, one given twice, or a default that is none of them.
    """

    name: str
    settings: tuple[Setting, ...]
    default: Setting
    unit: str = ""
    doc: str = ""
    active_if: Constraint | None = None
    kind: OptionKind = field(init=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not self.settings:
            raise OptionError(f"option {self.name!r} has no settings", "settings", fix="list two or more")
        for index, setting in enumerate(self.settings):
            _check_setting(self.name, setting, index)
        object.__setattr__(self, "kind", OptionKind.of(self.settings[0]))
        self._check_alike()
        self._check_default()

    def position(self, setting: Setting) -> int | None:
        """The index of a setting among the settings, by type and value, or None where it is none."""
        for index, known in enumerate(self.settings):
            if type(known) is type(setting) and known == setting:
                return index
        return None

    def _check_alike(self) -> None:
        seen: set[Setting] = set()
        for index, setting in enumerate(self.settings):
            kind = OptionKind.of(setting)
            if kind is not self.kind:
                fix = "write every number with a point" if kind.numeric and self.kind.numeric else "use one type"
                first = self.settings[0]
                raise OptionError(
                    f"option {self.name!r} has settings of different types: {setting_text(first)!r} is "
                    f"{type_names[type(first)]}, {setting_text(setting)!r} is {type_names[type(setting)]}",
                    "settings",
                    index=index,
                    fix=fix,
                )
            if setting in seen:
                raise OptionError(
                    f"option {self.name!r} has the setting {setting_text(setting)} twice",
                    "settings",
                    index=index,
                    fix="list it once",
                )
            seen.add(setting)

    def _check_default(self) -> None:
        if self.position(self.default) is None:
            shown = ", ".join(setting_text(setting) for setting in self.settings[:12])
            raise OptionError(
                f"option {self.name!r} has the default {setting_text(self.default)!r}, which is none of its settings",
                "default",
                fix=f"use one of: {shown}",
            )


def _check_name(name: str) -> None:
    if not name or len(name) > _LONGEST_NAME:
        raise OptionError("an option's name has 1 to 200 characters", "name")
    if name != name.strip() or not name.isprintable() or any(c in name for c in "`{}"):
        raise OptionError(
            f"{name!r} cannot name an option",
            "name",
            fix="use letters, digits, '_', '-' and '.' (no `, {, } or ends of blanks)",
        )


def _check_setting(name: str, setting: Setting, index: int) -> None:
    if type(setting) not in type_names:
        problem = "is neither boolean, number nor text"
    elif isinstance(setting, float) and not math.isfinite(setting):
        problem = "is not a finite number"
    elif isinstance(setting, int) and not -_LARGEST <= setting < _LARGEST:
        problem = "has more than 64 bits"
    elif isinstance(setting, str) and any(0xD800 <= ord(c) < 0xE000 for c in setting):
        problem = "is not text that can be written in UTF-8"
    else:
        return
    raise OptionError(f"option {name!r} has a setting that {problem}: {setting!r:.60}", "settings", index=index)


def read_setting(option: Option, text: str) -> Setting:
    """The setting of an option that a text means.

    Numbers may be written in any way (``1e3`` for 1000), booleans as true and false or 1 and 0.

    Raises:
        InputError: where it is none of the settings, with the nearest.
    """
    for setting in option.settings:
        if setting_text(setting) == text:
            return setting
    for setting in option.settings:
        if text.strip() == setting_text(setting) or _means(text.strip(), setting):
            return setting
    raise no_setting(option, text)


def no_setting(option: Option, text: str) -> InputError:
    """The error for a text that is not a setting of an option."""
    return InputError(
        f"{text!r} is not a setting of option {option.name!r}",
        fix=suggestion(text, [setting_text(setting) for setting in option.settings]),
    )


def _means(text: str, setting: Setting) -> bool:
    if isinstance(setting, bool):
        return text.lower() in ({"true", "1"} if setting else {"false", "0"})
    if isinstance(setting, str):
        return False
    try:
        return float(text) == setting
    except ValueError:
        return False
