"""The text of new project files: of a given space, or a commented skeleton to start from."""

from __future__ import annotations

import re

from hati.core import Setting
from hati.space import Option, Space

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def write_project(space: Space, name: str) -> str:
    """The TOML text of a project with a space and no benchmark; reading it gives the same space.

    Without a name, the project is named after its folder.
    """
    blocks = [f"[subject]\nname = {_text(name)}\n"] if name.strip() else []
    blocks += [_option_text(option) for option in space.options]
    if space.constraints:
        lines = "".join(f"  {_text(str(constraint))},\n" for constraint in space.constraints)
        blocks.append(f"[space]\nconstraints = [\n{lines}]\n")
    return "\n".join(blocks)


def _option_text(option: Option) -> str:
    lines = [f"[options.{_key(option.name)}]", f"settings = [{', '.join(map(_setting_text, option.settings))}]"]
    if option.default != option.settings[0]:
        lines.append(f"default = {_setting_text(option.default)}")
    if option.unit:
        lines.append(f"unit = {_text(option.unit)}")
    if option.doc:
        lines.append(f"doc = {_text(option.doc)}")
    if option.active_if is not None:
        lines.append(f"active_if = {_text(str(option.active_if))}")
    return "\n".join(lines) + "\n"


def _setting_text(setting: Setting) -> str:
    if isinstance(setting, str):
        return _text(setting)
    return str(setting).lower() if isinstance(setting, bool) else repr(setting)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return '"' + "".join(_character(c) for c in text) + '"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x20 or code == 0x7F else character


def skeleton(name: str) -> str:
    """A commented project file to start from, which runs as it is."""
    return _SKELETON.replace("NAME", _text(name), 1)


_SKELETON = """\
[subject]
name = NAME

# A benchmark: how to make one measurement. It is started without a shell, once for every run.
[[benchmark]]
name    = "sort"
command = ["python3", "-c", "sorted(range(int('{size}')), key=str, reverse='{reverse}' == 'yes')"]
reader  = "process"   # time and memory of the process; others read what it prints, such as json or google-benchmark
timeout = "30s"
# build   = ["make", "-s"]                # once for every revision and set of options with build = true
# prepare = ["./prepare.sh", "{work}"]    # before each run, not measured; {work} is an empty folder of the run's own
# warmup  = 3                             # leading observations of a run that do not count; or "auto": found
# cpus    = [1]

[[benchmark.metric]]
name   = "wall_time"
unit   = "s"
better = "lower"

# An option: what can be set, and to what. The first setting is the default.
[options.size]
settings = [1000, 100000]
unit     = "element"
doc      = "how many numbers are sorted"

[options.reverse]
settings = ["no", "yes"]
doc      = "whether the greatest comes first"

# [options.level]
# settings  = [1, 9]
# active_if = "reverse == 'yes'"          # without influence otherwise
# argument  = "--level={}"                # or env = "LEVEL"; or {level} in the command; or in a file's template

[space]
constraints = []      # such as "size <= 1000 or reverse == 'yes'"
"""
