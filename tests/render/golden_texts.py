"""The texts that are kept in golden/ and compared exactly; ``python tests/render/golden_texts.py`` writes them anew."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "report"))  # as conftest.py, where this is run alone

from example_gates import GATES
from example_screenings import empty_screening, hostile_screening, incomplete_screening, raw_screening, sqlite_screening

from hati.document import publish
from hati.render import document_markdown, document_text, table_markdown, table_text, to_annotations, to_json, to_junit
from hati.studies.findings import Ruling
from hati.studies.gate.document import GateJson, gate_answer, gate_cases, gate_document
from hati.studies.screening.document import screening_document, screening_tables

FOLDER = Path(__file__).resolve().parent / "golden"
TITLE = "hati check"

TEXTS = {
    "sqlite.txt": lambda: document_text(screening_document(sqlite_screening())),
    "raw.txt": lambda: document_text(screening_document(raw_screening())),
    "incomplete.txt": lambda: document_text(screening_document(incomplete_screening())),
    "empty.txt": lambda: document_text(screening_document(empty_screening())),
    "hostile.txt": lambda: document_text(screening_document(hostile_screening())),
    "options.txt": lambda: table_text(screening_tables(sqlite_screening()).options),
    "all-effects.txt": lambda: table_text(screening_tables(sqlite_screening()).all_effects),
    "sqlite.md": lambda: document_markdown(screening_document(sqlite_screening())),
    "hostile.md": lambda: document_markdown(screening_document(hostile_screening())),
    "aliases.md": lambda: table_markdown(screening_tables(sqlite_screening()).aliases),
}


def gate_comment(ruling: Ruling) -> str:
    return document_markdown(gate_document(ruling))


def gate_junit(ruling: Ruling) -> str:
    return to_junit(TITLE, gate_cases(ruling))


def gate_annotations(ruling: Ruling) -> str:
    return to_annotations(TITLE, gate_answer(ruling), gate_cases(ruling))


for gate, made in GATES.items():
    TEXTS[f"gate-{gate}.md"] = lambda made=made: gate_comment(made())
    TEXTS[f"gate-{gate}.xml"] = lambda made=made: gate_junit(made())
    TEXTS[f"gate-{gate}.annotations"] = lambda made=made: gate_annotations(made())
for gate in ("slower", "broken", "known"):
    TEXTS[f"gate-{gate}.json"] = lambda made=GATES[gate]: to_json(publish(made(), GateJson))
    TEXTS[f"gate-{gate}.txt"] = lambda made=GATES[gate]: document_text(gate_document(made()))

if __name__ == "__main__":
    for name, text in TEXTS.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")
