"""Files to start from: project files as text, and pipelines of continuous integration."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from enum import StrEnum
from pathlib import PurePath

from msgspec import Struct

from hati.core import Setting
from hati.space import Option, Space

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def write_project(space: Space, name: str) -> str:
    """The TOML text of a project with that space and no benchmark; reading it gives the same space.

    Without a name, the project is called after its folder.
    """
    blocks = [f"[subject]\nname = {_text(name)}\n"] if name.strip() else []
    blocks += [_option(option) for option in space.options]
    if space.constraints:
        lines = "".join(f"  {_text(str(constraint))},\n" for constraint in space.constraints)
        blocks.append(f"[space]\nconstraints = [\n{lines}]\n")
    return "\n".join(blocks)


def _option(option: Option) -> str:
    lines = [f"[options.{_key(option.name)}]", f"settings = [{', '.join(map(_setting, option.settings))}]"]
    if option.default != option.settings[0]:
        lines.append(f"default = {_setting(option.default)}")
    if option.unit:
        lines.append(f"unit = {_text(option.unit)}")
    if option.doc:
        lines.append(f"doc = {_text(option.doc)}")
    if option.active_if is not None:
        lines.append(f"active_if = {_text(str(option.active_if))}")
    return "\n".join(lines) + "\n"


def _setting(setting: Setting) -> str:
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


_STORE = ".hati/store.sqlite"
"""What is kept between pipelines: the runs, and what is known of findings. Builds are made anew."""


class Service(StrEnum):
    """Who runs the pipeline."""

    GITHUB = "github"
    GITLAB = "gitlab"


class Pipeline(Struct, frozen=True):
    """A file, by its path in the repository, and its text."""

    path: PurePath
    text: str


def pipeline(service: Service, within: PurePath) -> Pipeline:
    """The one that checks every change of the project in the folder ``within`` a repository."""
    return _PIPELINES[service](within)


def _github(within: PurePath) -> Pipeline:
    name = "-".join(("hati", *within.parts))
    return Pipeline(PurePath(".github/workflows", f"{name}.yml"), _filled(_GITHUB, within, name))


def _gitlab(within: PurePath) -> Pipeline:
    return Pipeline(PurePath(".gitlab-ci.yml"), _filled(_GITLAB, within, "-".join(("hati", *within.parts))))


def _filled(text: str, within: PurePath, name: str) -> str:
    """The text for a project: ``@CHECK@`` is the command, ``@STORE@`` the path of the store, ``@NAME@`` of the job."""
    project = "" if within == PurePath() else f" --project {shlex.quote(within.as_posix())}"
    texts = {"@CHECK@": f"hati check HEAD{project}", "@STORE@": _quoted(within / _STORE), "@NAME@": _quoted(name)}
    for place, value in texts.items():
        text = text.replace(place, value)
    return text


def _quoted(value: object) -> str:
    """As YAML's text in single quotes: https://yaml.org/spec/1.2.2/#732-single-quoted-style."""
    return "'" + str(value).replace("'", "''") + "'"


_PIPELINES: dict[Service, Callable[[PurePath], Pipeline]] = {Service.GITHUB: _github, Service.GITLAB: _gitlab}

_GITHUB = """\
name: @NAME@
on: pull_request
permissions: { contents: read, pull-requests: write }
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4 # the change itself with its past, not what merging it would make
        with: { fetch-depth: 0, ref: "${{ github.event.pull_request.head.sha }}" }
      - uses: actions/cache/restore@v4
        with: { path: @STORE@, key: "hati-${{ github.run_id }}", restore-keys: hati- }
      - run: pip install hati
      - run: |
          base=$(git merge-base HEAD "origin/$GITHUB_BASE_REF")
          @CHECK@ --reference "$base" --format github --report markdown=hati.md
      - if: ${{ !cancelled() }} # also where the check failed
        uses: actions/cache/save@v4
        with: { path: @STORE@, key: "hati-${{ github.run_id }}-${{ github.run_attempt }}" }
      - if: ${{ !cancelled() && hashFiles('hati.md') != '' }}
        env:
          GH_TOKEN: ${{ github.token }}
          COMMENTS: repos/${{ github.repository }}/issues/${{ github.event.number }}/comments
        run: |
          cat hati.md >> "$GITHUB_STEP_SUMMARY"
          export MARK=$(head -n 1 hati.md)
          own='.[] | select(.user.type == "Bot" and (.body | startswith(env.MARK))) | .url'
          url=$(gh api --paginate "$COMMENTS" --jq "$own" | head -n 1)
          if [ -n "$url" ]; then gh api --method PATCH "$url" -F body=@hati.md
          else gh api "$COMMENTS" -F body=@hati.md; fi
"""

_GITLAB = """\
@NAME@:
  image: python:3.12
  rules: [{ if: '$CI_PIPELINE_SOURCE == "merge_request_event"' }]
  variables: { GIT_DEPTH: 0 }
  cache: { key: @NAME@, paths: [@STORE@], when: always }
  script:
    - pip install hati
    - |
      @CHECK@ --reference "$CI_MERGE_REQUEST_DIFF_BASE_SHA" --report junit=hati.xml
  artifacts: { when: always, reports: { junit: hati.xml } }
"""
