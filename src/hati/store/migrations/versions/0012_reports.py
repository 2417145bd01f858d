"""Reports of machines that have to agree on a result."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_PLAIN = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "report",
        sa.Column("task", _PLAIN, primary_key=True),
        sa.Column("machine", _PLAIN, primary_key=True),
        sa.Column("batch", _WHOLE, sa.ForeignKey("batch.number"), nullable=False),
        sa.Column("attempt", _WHOLE, nullable=False),
        sa.Column("entry", _WHOLE, sa.ForeignKey("ledger.number"), nullable=False),
        sa.Column("verdict", _PLAIN),
    )
    op.create_index("ix_report_batch", "report", ["batch"])
    op.create_index("ix_report_machine", "report", ["machine", "entry"])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("report")
