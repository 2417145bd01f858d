"""The texts that are kept in golden/ and compared exactly; ``python tests/render/golden_texts.py`` writes them anew."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "golden"

if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER.parent.parent / "report"))

from example_screenings import (  # noqa: E402 - found beside the tests of report
    empty_screening,
    hostile_screening,
    incomplete_screening,
    raw_screening,
    sqlite_screening,
)

from hati.render import screening_markdown, screening_text, table_markdown, table_text  # noqa: E402
from hati.report import screening_tables  # noqa: E402

TEXTS = {
    "sqlite.txt": lambda: screening_text(sqlite_screening()),
    "raw.txt": lambda: screening_text(raw_screening()),
    "incomplete.txt": lambda: screening_text(incomplete_screening()),
    "empty.txt": lambda: screening_text(empty_screening()),
    "hostile.txt": lambda: screening_text(hostile_screening()),
    "options.txt": lambda: table_text(screening_tables(sqlite_screening()).options),
    "all-effects.txt": lambda: table_text(screening_tables(sqlite_screening()).all_effects),
    "sqlite.md": lambda: screening_markdown(sqlite_screening()),
    "hostile.md": lambda: screening_markdown(hostile_screening()),
    "aliases.md": lambda: table_markdown(screening_tables(sqlite_screening()).aliases),
}

if __name__ == "__main__":
    for name, text in TEXTS.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")
