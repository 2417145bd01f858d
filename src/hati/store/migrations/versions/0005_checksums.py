"""What shows that a row is still as it was written."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the columns; rows written before have nothing in them, and are not checked."""
    for table in ("study", "run"):
        op.add_column(table, sa.Column("checksum", _WHOLE))


def downgrade() -> None:
    """Remove them."""
    for table in ("run", "study"):
        op.drop_column(table, "checksum")
