"""``python -m examples.study [measure] [analyse] [write]``: the steps of the study, by default all."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from examples.study.analysis import Effort
from examples.study.measuring import measure, write_table
from examples.study.page import write_page, write_results
from examples.study.systems import EXAMPLES, SQLITE, TAO

from hati.core import HatiError

DOCUMENTS = EXAMPLES.parent / "docs" / "explanation"
STORE = EXAMPLES / "study" / ".hati" / "store.sqlite"
SOURCES = (TAO, SQLITE)
STEPS = ("measure", "analyse", "write")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.study", description=__doc__)
    parser.add_argument("steps", nargs="*", choices=STEPS, help="which steps; all of them by default")
    steps = parser.parse_args().steps or STEPS
    try:
        for step in STEPS:
            if step in steps:
                print(f"study: {step}", file=sys.stderr, flush=True)
                STEP[step]()
    except HatiError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _measure() -> None:
    STORE.parent.mkdir(exist_ok=True)
    write_table(measure(SQLITE.space, str(STORE)), SQLITE.table)


def _analyse() -> None:
    write_results(SOURCES, DOCUMENTS / "feasibility", Effort())


def _write() -> None:
    write_page(SOURCES, DOCUMENTS / "feasibility", Path(DOCUMENTS / "feasibility.md"))


STEP = {"measure": _measure, "analyse": _analyse, "write": _write}

if __name__ == "__main__":
    sys.exit(main())
