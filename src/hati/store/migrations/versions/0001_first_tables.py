"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make machine, study, run and observations."""
    op.create_table(
        "machine",
        sa.Column("fingerprint", sa.Text, primary_key=True),
        sa.Column("properties", sa.Text, nullable=False),
    )
    op.create_table(
        "study",
        sa.Column("number", _WHOLE, primary_key=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("family", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("parameters", sa.Text, nullable=False),
        sa.Column("seed", _WHOLE, nullable=False),
        sa.Column("machine", sa.Text, sa.ForeignKey("machine.fingerprint"), nullable=False),
        sa.Column("campaign", _WHOLE, nullable=False),
        sa.Column("metrics", sa.Text, nullable=False),
        sa.Column("choice", sa.Text),
        sa.UniqueConstraint("key", name="uq_study_key"),
        sa.UniqueConstraint("family", "campaign", name="uq_study_family"),
    )
    op.create_table(
        "run",
        sa.Column("number", _WHOLE, primary_key=True),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("study", sa.Text, sa.ForeignKey("study.key"), nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("benchmark", sa.Text, nullable=False),
        sa.Column("configuration", sa.Text, nullable=False),
        sa.Column("revision", sa.Text, nullable=False),
        sa.Column("workload", sa.Text, nullable=False),
        sa.Column("repetition", _WHOLE, nullable=False),
        sa.Column("machine", sa.Text, nullable=False),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("exit", _WHOLE),
        sa.Column("output", sa.Text, nullable=False),
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
        sa.Column("metric", sa.Text, primary_key=True),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("warmup", _WHOLE, nullable=False),
        sa.Column("position", _WHOLE, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """Remove all tables."""
    for table in ("observations", "run", "study", "machine"):
        op.drop_table(table)
