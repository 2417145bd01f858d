"""The notebook is executed: each cell's last value is the one that the notebook shows."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "notebook.ipynb"


def value_of(source: str, names: dict[str, Any]) -> object:
    """Execute a cell; the value of its last expression."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) and not source.endswith(";") else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(compile(last, "cell", "eval"), names) if last else None


def test_every_cell_gives_what_the_notebook_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))
    monkeypatch.setenv("COLUMNS", "80")
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        value = value_of("".join(cell["source"]), names)
        shown = ["".join(output["data"]["text/plain"]) for output in cell["outputs"]]
        assert ([] if value is None else [repr(value)]) == shown
    assert '<iframe srcdoc="' in names["screening"]._repr_html_()
