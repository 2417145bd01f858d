"""Stores as an earlier Hati left them."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

import hati.store


def bring_back(file: Path, revision: str) -> None:
    """Give the tables of a store the form that they had at a migration."""
    config = Config()
    config.set_main_option("script_location", str(Path(hati.store.__file__).parent / "migrations"))
    engine = create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)
        connection.commit()
    engine.dispose()
