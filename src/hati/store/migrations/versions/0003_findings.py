"""What happened to findings."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table; findings themselves follow from it."""
    op.create_table(
        "event",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("finding", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("study", sa.Text, nullable=False),
        sa.Column("reference", sa.Text, nullable=False),
        sa.Column("revision", sa.Text, nullable=False),
        sa.Column("sizes", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("event")
