"""The token that distinguishes a campaign from one of the same number that was begun elsewhere."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_PLAIN = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the column; campaigns begun before have an empty one, and keep their keys."""
    with op.batch_alter_table("study") as study:
        study.add_column(sa.Column("token", _PLAIN, nullable=False, server_default=""))
        study.drop_constraint("uq_study_family", type_="unique")
        study.create_unique_constraint("uq_study_family", ["family", "campaign", "token"])


def downgrade() -> None:
    """Remove it, where no two campaigns have one number."""
    with op.batch_alter_table("study") as study:
        study.drop_constraint("uq_study_family", type_="unique")
        study.create_unique_constraint("uq_study_family", ["family", "campaign"])
        study.drop_column("token")
