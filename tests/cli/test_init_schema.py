"""``hati init --schema``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from hati.project import json_schema

if TYPE_CHECKING:
    from conftest import Hati


def test_the_schema_is_written_next_to_the_project_file(tmp_path: Path, hati_here: Hati) -> None:
    done = hati_here("init", "--schema", ".")
    assert done.status == 0
    assert done.out == "hati.schema.json is written; begin hati.toml with the line: #:schema hati.schema.json\n"
    assert json.loads((tmp_path / "hati.schema.json").read_text()) == json_schema()
    assert hati_here("init", "--schema").status == 2, "an existing file stays"
    assert hati_here("init", "--schema", "--force").status == 0
    assert hati_here("init", "--schema", "--output", "-").json == json_schema()


def test_a_project_file_that_names_its_schema_is_read(tmp_path: Path, hati_here: Hati) -> None:
    text = hati_here("init", "--output", "-").out
    (tmp_path / "hati.toml").write_text(f"#:schema hati.schema.json\n{text}")
    assert hati_here("space", "count").out == "4 configurations\n"


def test_a_schema_and_a_pipeline_are_two_commands(hati_here: Hati) -> None:
    refused = hati_here("init", "--schema", "--ci", "github")
    assert refused.status == 2
    assert "one by one" in refused.err
