"""Write docs/reference/schemas: the JSON Schema of each format that commands publish or read, from the code.

Run it as: .venv/bin/python scripts/json_schemas.py
"""

from __future__ import annotations

from pathlib import Path

from hati.generate import TaskSet
from hati.render import json_schema
from hati.wiring.published import published_types

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference" / "schemas"
READ = {"hati-task-set-1": TaskSet}


def schemas() -> dict[str, str]:
    """The texts by the names of their files."""
    kinds = {**published_types(), **READ}
    return {f"{name}.json": json_schema(kind) for name, kind in kinds.items()}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    written = schemas()
    for stale in {file.name for file in FOLDER.iterdir()} - set(written):
        (FOLDER / stale).unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
