"""Which states are one machine's, and since when."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_PLAIN = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the columns; a state that was stored before is a machine of its own until that machine measures again."""
    for name, kind in (("identity", _PLAIN), ("since", _PLAIN), ("checksum", _WHOLE)):
        op.add_column("machine", sa.Column(name, kind))


def downgrade() -> None:
    """Remove them."""
    for name in ("checksum", "since", "identity"):
        op.drop_column("machine", name)
