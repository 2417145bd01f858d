"""Queues of the ledger: what waits is found by an index; and why a machine got a batch."""

import hashlib
import json

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_PLAIN = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_PARTIAL = {
    "ix_batch_queue": ("batch", ["queue", "number"], "state = 'open' AND machine IS NULL"),
    "ix_batch_begun": ("batch", ["machine", "number"], "state = 'open' AND machine IS NOT NULL"),
    "ix_batch_failed": ("batch", ["number"], "failures > 0"),
    "ix_ledger_accepted": ("ledger", ["at", "batch"], "what = 'accepted'"),
}


def upgrade() -> None:
    """Add columns and indexes, and put what is there into queues."""
    op.add_column("batch", sa.Column("queue", _PLAIN))
    op.add_column("attempt", sa.Column("choice", _PLAIN))
    _fill(op.get_bind())
    op.drop_index("ix_batch_state", "batch")
    op.create_index("ix_batch_study", "batch", ["study", "state", "failures", "number"])
    op.create_index("ix_worker_machine", "worker", ["machine"])
    for name, (table, columns, condition) in _PARTIAL.items():
        where = sa.text(condition)
        op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    """Remove them."""
    for name, (table, _, _) in reversed(_PARTIAL.items()):
        op.drop_index(name, table)
    op.drop_index("ix_worker_machine", "worker")
    op.drop_index("ix_batch_study", "batch")
    op.create_index("ix_batch_state", "batch", ["state"])
    op.drop_column("attempt", "choice")
    op.drop_column("batch", "queue")


def _fill(connection: sa.Connection) -> None:
    batch = sa.table("batch", *map(sa.column, ("study", "requirements", "queue")))
    same = (batch.c.study == sa.bindparam("of")) & (batch.c.requirements == sa.bindparam("need"))
    change = batch.update().where(same).values(queue=sa.bindparam("to"))
    for study, requirements in connection.execute(sa.select(batch.c.study, batch.c.requirements).distinct()).all():
        text = json.dumps([study, requirements], ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        key = hashlib.sha256(text.encode()).hexdigest()[:32]
        connection.execute(change, {"of": study, "need": requirements, "to": key})
