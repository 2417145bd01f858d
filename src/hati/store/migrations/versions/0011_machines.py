"""Indexes of a machine's attempts, and of the results that are set aside."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create the indexes."""
    op.create_index("ix_attempt_machine", "attempt", ["machine", "ended"])
    where = sa.text("what IN ('late', 'duplicate')")
    op.create_index("ix_ledger_aside", "ledger", ["batch", "number"], sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    """Remove them."""
    op.drop_index("ix_ledger_aside", "ledger")
    op.drop_index("ix_attempt_machine", "attempt")
