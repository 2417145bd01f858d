"""The page of the results: all numbers in its text are filled in from the results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from examples.study.analysis import Effort, analysed
from examples.study.claims import CLAIMS, DETAILS
from examples.study.systems import Source
from examples.study.validations import SEED_IMPORTANT, costs

from hati.document import change, duration, general, percent, quantity

TEMPLATE = Path(__file__).with_name("feasibility.md.j2")
RESULTS = "results.json"


def write_results(sources: tuple[Source, ...], folder: Path, effort: Effort) -> None:
    """Analyse the systems whose tables exist; write results and figures into a folder, replacing old ones.

    Raises:
        InputError: if a table is not complete.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    systems = {}
    for source in sources:
        if not source.table.exists():
            continue
        systems[source.name], drawings = analysed(source, effort)
        for name, drawing in drawings.items():
            folder.joinpath(f"{source.name}-{name}.svg").write_text(drawing)
    found = costs()
    results = {"important": SEED_IMPORTANT, "costs": vars(found), "systems": systems}
    folder.joinpath(RESULTS).write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def page(results: Mapping[str, Any], sources: tuple[Source, ...], folder: str) -> str:
    """The page in Markdown; figures are in ``folder``, relative to the page."""
    environment = jinja2.Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {
        "percent": percent,
        "general": general,
        "duration": duration,
        "change": lambda log: change(float(np.expm1(log))),
        "size": lambda log: percent(float(np.expm1(abs(log))), 2),
    }
    systems = results["systems"]
    missing = [source.title for source in sources if source.name not in systems]
    text = environment.from_string(TEMPLATE.read_text())
    return text.render(
        results=results,
        systems=systems,
        missing=missing,
        folder=folder,
        claims=CLAIMS,
        details=DETAILS,
        quantity=quantity,
    )


def write_page(sources: tuple[Source, ...], folder: Path, file: Path) -> None:
    """Write the page of the results in a folder."""
    results = json.loads(folder.joinpath(RESULTS).read_text())
    file.write_text(page(results, sources, folder.relative_to(file.parent).as_posix()))
