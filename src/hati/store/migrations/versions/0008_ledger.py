"""The ledger: what was released to workers, who took it, and what came of it."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_PLAIN = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "ledger",
        sa.Column("number", _WHOLE, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("what", _PLAIN, nullable=False),
        sa.Column("batch", _WHOLE),
        sa.Column("content", _PLAIN, nullable=False),
    )
    op.create_table(
        "batch",
        sa.Column("number", _WHOLE, primary_key=True, autoincrement=False),
        sa.Column("key", _PLAIN, nullable=False),
        sa.Column("study", _PLAIN, nullable=False),
        sa.Column("state", _PLAIN, nullable=False),
        sa.Column("requirements", _PLAIN, nullable=False),
        sa.Column("tasks", _PLAIN, nullable=False),
        sa.Column("machine", _PLAIN),
        sa.Column("attempts", _WHOLE, nullable=False),
        sa.Column("failures", _WHOLE, nullable=False),
    )
    op.create_index("ix_batch_key", "batch", ["key"])
    op.create_index("ix_batch_state", "batch", ["state"])
    op.create_table(
        "attempt",
        sa.Column("batch", _WHOLE, sa.ForeignKey("batch.number"), primary_key=True, autoincrement=False),
        sa.Column("number", _WHOLE, primary_key=True, autoincrement=False),
        sa.Column("machine", _PLAIN, nullable=False),
        sa.Column("worker", _PLAIN, nullable=False),
        sa.Column("began", sa.Float, nullable=False),
        sa.Column("ended", sa.Float),
        sa.Column("outcome", _PLAIN),
        sa.Column("reason", _PLAIN, nullable=False),
    )
    op.create_table(
        "lease",
        sa.Column("machine", _PLAIN, primary_key=True),
        sa.Column("batch", _WHOLE, sa.ForeignKey("batch.number"), nullable=False),
        sa.Column("attempt", _WHOLE, nullable=False),
        sa.Column("worker", _PLAIN, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.UniqueConstraint("batch", name="uq_lease_batch"),
    )
    op.create_table(
        "result",
        sa.Column("task", _PLAIN, primary_key=True),
        sa.Column("batch", _WHOLE, sa.ForeignKey("batch.number"), nullable=False),
        sa.Column("attempt", _WHOLE, nullable=False),
        sa.Column("entry", _WHOLE, sa.ForeignKey("ledger.number"), nullable=False),
    )
    op.create_index("ix_result_batch", "result", ["batch"])
    op.create_table(
        "worker",
        sa.Column("key", _PLAIN, primary_key=True),
        sa.Column("machine", _PLAIN, nullable=False),
        sa.Column("client", _PLAIN, nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
    )


def downgrade() -> None:
    """Remove them."""
    for name in ("worker", "result", "lease", "attempt", "batch", "ledger"):
        op.drop_table(name)
