"""The JSON of every command is as it was before the house was rebuilt, but for keys that were added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from golden_json import COMMANDS, recorded

if TYPE_CHECKING:
    from conftest import Hati

GOLDEN = Path(__file__).parent / "golden" / "504d09d.json"


def test_every_command_writes_the_same_json(hati_here: Hati) -> None:
    def hati(words: tuple[str, ...], folder: Path) -> str:
        done = hati_here(*words, folder=folder)
        assert done.status in {0, 1, 3}, done.err
        return done.out

    golden, now = json.loads(GOLDEN.read_text()), recorded(hati)
    assert set(golden) == set(COMMANDS)
    for name, value in golden.items():
        assert now[name] == value, name
