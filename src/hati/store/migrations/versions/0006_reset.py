"""The time that resetting the system took before a run."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column; there was no reset before."""
    op.add_column("run", sa.Column("reset", sa.Float))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("run", "reset")
