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


def test_a_new_folder_is_made(tmp_path: Path, hati_here: Hati) -> None:
    assert hati_here("init", "new/folder").status == 0
    assert (tmp_path / "new" / "folder" / "hati.toml").is_file()


def test_a_file_is_not_a_folder(tmp_path: Path, hati_here: Hati) -> None:
    (tmp_path / "file").touch()
    refused = hati_here("init", "file")
    assert (refused.status, refused.out) == (2, "")
    assert "file cannot be made" in refused.err


def test_a_pipeline_is_for_a_folder_that_is_there(hati_here: Hati) -> None:
    assert "there is no folder new" in hati_here("init", "new", "--ci", "github").err


def test_a_project_file_that_names_its_schema_is_read(tmp_path: Path, hati_here: Hati) -> None:
    text = hati_here("init", "--output", "-").out
    (tmp_path / "hati.toml").write_text(f"#:schema hati.schema.json\n{text}")
    assert hati_here("space", "count").out == "4 configurations\n"


def test_a_schema_and_a_pipeline_are_two_commands(hati_here: Hati) -> None:
    refused = hati_here("init", "--schema", "--ci", "github")
    assert refused.status == 2
    assert "one by one" in refused.err
