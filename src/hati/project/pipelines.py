"""Pipelines of continuous integration to start from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath


class Service(StrEnum):
    """Who runs the pipeline."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True)
class Pipeline:
    """A file, by its path in the repository, and its text."""

    path: PurePath
    text: str


PIPELINES = {
    Service.GITHUB: Pipeline(
        PurePath(".github/workflows/hati.yml"),
        """\
name: performance
on: pull_request
jobs:
  hati:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: { fetch-depth: 0 }
      - uses: actions/cache@v4 # builds, and findings that were told
        with: { path: .hati, key: "hati-${{ github.run_id }}", restore-keys: hati- }
      - run: pip install hati
      - run: hati check HEAD --format github
""",
    ),
    Service.GITLAB: Pipeline(
        PurePath(".gitlab-ci.yml"),
        """\
hati:
  image: python:3.12
  rules: [{ if: $CI_MERGE_REQUEST_IID }]
  variables: { GIT_DEPTH: 0 }
  cache: { key: hati, paths: [.hati] } # builds, and findings that were told
  script:
    - pip install hati
    - git fetch origin "$CI_MERGE_REQUEST_TARGET_BRANCH_NAME"
    - hati check HEAD --reference "$(git merge-base HEAD FETCH_HEAD)" --format junit --output hati.xml
  artifacts: { when: always, reports: { junit: hati.xml } }
""",
    ),
}
