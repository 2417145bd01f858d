"""Pipelines of continuous integration to start from."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from enum import StrEnum
from pathlib import PurePath

from msgspec import Struct

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
