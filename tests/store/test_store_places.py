"""Places of stores as commands name them."""

from __future__ import annotations

import pytest

from hati.store import without_password
from hati.store.opening import make_url


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("a store.sqlite", "a store.sqlite"),
        ("sqlite:///a.sqlite", "sqlite:///a.sqlite"),
        ("postgresql://me:s3cret@host:5433/hati", "postgresql://me@host:5433/hati"),
        (
            "postgresql://me:s3cret@host/hati?options=-csearch_path=team&sslmode=require",
            "postgresql://me@host/hati?options=-csearch_path%3Dteam&sslmode=require",
        ),
        ("postgresql://me@/hati?host=/run&password=s3cret&sslpassword=s3cret", "postgresql://me@/hati?host=%2Frun"),
    ],
)
def test_only_the_password_is_removed(place: str, shown: str) -> None:
    assert without_password(place) == shown
    if "://" in place:
        kept = {**make_url(place).query}
        for name in ("password", "sslpassword"):
            kept.pop(name, None)
        assert dict(make_url(shown).query) == kept
