"""Settings from text, as in the cells of a table."""

from __future__ import annotations

from hati.core import InputError, Setting, setting_text
from hati.core.nearest import suggestion
from hati.space.option import Option


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
    """The error that tells that a text is none of an option's settings."""
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
