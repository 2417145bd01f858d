"""Write the OpenAPI document of the server of volunteers: `python scripts/openapi.py`."""

from __future__ import annotations

import json
from pathlib import Path

from hati.gateway import Gateway, Setup, make_app
from hati.store import open_store

FILE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "openapi.json"


def document() -> str:
    app = make_app(Gateway(open_store("sqlite://"), Setup()), bytes)
    return json.dumps(app.openapi(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
