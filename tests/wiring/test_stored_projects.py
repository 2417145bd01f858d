"""The project of each stored study."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from hati.core import StudyId
from hati.store import StudyRecord
from hati.wiring.known.named import stored_projects


def test_studies_without_a_subject_are_not_left_out(tmp_path: Path) -> None:
    """Earlier versions stored some without."""
    (tmp_path / "hati.toml").write_text('[subject]\nname = "own"\n')
    records = [
        StudyRecord(StudyId.of("run", {"subject": "own"}, 1, "m"), (), None),
        StudyRecord(StudyId.of("run", {"subject": "theirs"}, 2, "m"), (), None),
        StudyRecord(StudyId.of("assertion", {}, 3, "m"), (), '{"subject": "theirs"}'),
        StudyRecord(StudyId.of("assertion", {}, 4, "m"), (), None),
    ]
    found = stored_projects(tmp_path, SimpleNamespace(studies=lambda: records))  # type: ignore[arg-type]  # a stub
    assert found.own == (records[0].id.key, records[3].id.key)
    assert found.others == {records[1].id.key: "theirs", records[2].id.key: "theirs"}
