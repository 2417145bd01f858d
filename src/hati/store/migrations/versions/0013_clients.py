"""Machines that said which attributes they have."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_PLAIN = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "client",
        sa.Column("machine", _PLAIN, primary_key=True),
        sa.Column("client", _PLAIN, nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("client")
