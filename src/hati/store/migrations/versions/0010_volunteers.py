"""Volunteers with their tokens' hashes, signed releases, and artefacts."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_PLAIN = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_WHOLE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "volunteer",
        sa.Column("name", _PLAIN, primary_key=True),
        sa.Column("machine", _PLAIN, nullable=False),
        sa.Column("fingerprint", _PLAIN, nullable=False),
        sa.Column("token", _PLAIN, nullable=False),
        sa.Column("client", _PLAIN, nullable=False),
        sa.Column("registered", sa.Float, nullable=False),
        sa.Column("revoked", sa.Float),
        sa.UniqueConstraint("machine", name="uq_volunteer_machine"),
        sa.UniqueConstraint("token", name="uq_volunteer_token"),
    )
    op.create_table(
        "artefact",
        sa.Column("sha256", _PLAIN, primary_key=True),
        sa.Column("bytes", _WHOLE, nullable=False),
    )
    op.create_table(
        "artefact_part",
        sa.Column("sha256", _PLAIN, sa.ForeignKey("artefact.sha256", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", _WHOLE, primary_key=True, autoincrement=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "release",
        sa.Column("key", _PLAIN, primary_key=True),
        sa.Column("benchmark", _PLAIN, nullable=False),
        sa.Column("revision", _PLAIN, nullable=False),
        sa.Column("statement", _PLAIN, nullable=False),
        sa.Column("signature", _PLAIN, nullable=False),
        sa.Column("public", _PLAIN, nullable=False),
        sa.Column("artefact", _PLAIN, sa.ForeignKey("artefact.sha256"), nullable=False),
        sa.Column("signed", sa.Float, nullable=False),
    )


def downgrade() -> None:
    """Remove them."""
    for name in ("release", "artefact_part", "artefact", "volunteer"):
        op.drop_table(name)
