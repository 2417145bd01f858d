"""What happened to findings."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_PLAIN = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table; findings themselves follow from it."""
    op.create_table(
        "event",
        sa.Column("id", _PLAIN, primary_key=True),
        sa.Column("finding", _PLAIN, nullable=False),
        sa.Column("what", _PLAIN, nullable=False),
        sa.Column("at", _PLAIN, nullable=False),
        sa.Column("study", _PLAIN, nullable=False),
        sa.Column("reference", _PLAIN, nullable=False),
        sa.Column("revision", _PLAIN, nullable=False),
        sa.Column("sizes", _PLAIN, nullable=False),
        sa.Column("author", _PLAIN, nullable=False),
        sa.Column("reason", _PLAIN, nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("event")
