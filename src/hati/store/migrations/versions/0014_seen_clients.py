"""When machines gave their last sign of life."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the column; it is not known of earlier machines."""
    op.add_column("client", sa.Column("seen", sa.Float))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("client", "seen")
