"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_PLAIN = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make machine, study, run and observations."""
    op.create_table(
        "machine",
        sa.Column("fingerprint", _PLAIN, primary_key=True),
        sa.Column("properties", _PLAIN, nullable=False),
    )
    op.create_table(
        "study",
        sa.Column("number", _WHOLE, primary_key=True),
        sa.Column("key", _PLAIN, nullable=False),
        sa.Column("family", _PLAIN, nullable=False),
        sa.Column("kind", _PLAIN, nullable=False),
        sa.Column("parameters", _PLAIN, nullable=False),
        sa.Column("seed", _WHOLE, nullable=False),
        sa.Column("machine", _PLAIN, sa.ForeignKey("machine.fingerprint"), nullable=False),
        sa.Column("campaign", _WHOLE, nullable=False),
        sa.Column("metrics", _PLAIN, nullable=False),
        sa.Column("choice", _PLAIN),
        sa.UniqueConstraint("key", name="uq_study_key"),
        sa.UniqueConstraint("family", "campaign", name="uq_study_family"),
    )
    op.create_table(
        "run",
        sa.Column("number", _WHOLE, primary_key=True),
        sa.Column("task", _PLAIN, nullable=False),
        sa.Column("study", _PLAIN, sa.ForeignKey("study.key"), nullable=False),
        sa.Column("stage", _PLAIN, nullable=False),
        sa.Column("benchmark", _PLAIN, nullable=False),
        sa.Column("configuration", _PLAIN, nullable=False),
        sa.Column("revision", _PLAIN, nullable=False),
        sa.Column("workload", _PLAIN, nullable=False),
        sa.Column("repetition", _WHOLE, nullable=False),
        sa.Column("machine", _PLAIN, nullable=False),
        sa.Column("started", _PLAIN, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("outcome", _PLAIN, nullable=False),
        sa.Column("detail", _PLAIN, nullable=False),
        sa.Column("exit", _WHOLE),
        sa.Column("output", _PLAIN, nullable=False),
        sa.Column("wall_time", sa.Float),
        sa.Column("user_time", sa.Float),
        sa.Column("system_time", sa.Float),
        sa.Column("peak_memory", _WHOLE),
        sa.Column("voluntary_switches", _WHOLE),
        sa.Column("involuntary_switches", _WHOLE),
        sa.Column("load", sa.Float),
        sa.UniqueConstraint("task", name="uq_run_task"),
    )
    op.create_index("ix_run_study", "run", ["study"])
    op.create_table(
        "observations",
        sa.Column("run", _WHOLE, sa.ForeignKey("run.number", ondelete="CASCADE"), primary_key=True),
        sa.Column("metric", _PLAIN, primary_key=True),
        sa.Column("unit", _PLAIN, nullable=False),
        sa.Column("warmup", _WHOLE, nullable=False),
        sa.Column("position", _WHOLE, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """Remove all tables."""
    for table in ("observations", "run", "study", "machine"):
        op.drop_table(table)
