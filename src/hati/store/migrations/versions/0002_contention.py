"""What was recorded of contention for the processors during a run."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns; runs recorded before have nothing in them."""
    for name in ("pressure", "steal"):
        op.add_column("run", sa.Column(name, sa.Float))


def downgrade() -> None:
    """Remove them."""
    for name in ("steal", "pressure"):
        op.drop_column("run", name)
