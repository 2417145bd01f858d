"""The tables in SQLAlchemy; ``migrations`` creates the same."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)

HEAD = "0014"
"""The newest migration: a store at this revision is up to date."""

Whole = BigInteger().with_variant(Integer, "sqlite")
"""A 64-bit integer, as SQLite's INTEGER is."""

Plain = Text().with_variant(Text(collation="C"), "postgresql")
"""A text that sorts by its characters, as in SQLite, and not by the rules of a language."""


metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s", "uq": "uq_%(table_name)s_%(column_0_name)s"}
)

machine = Table(
    "machine",
    metadata,
    Column("fingerprint", Plain, primary_key=True),
    Column("properties", Plain, nullable=False),
    Column("identity", Plain),
    Column("since", Plain),
    Column("checksum", Whole),
)

study = Table(
    "study",
    metadata,
    Column("number", Whole, primary_key=True),
    Column("key", Plain, nullable=False, unique=True),
    Column("family", Plain, nullable=False),
    Column("kind", Plain, nullable=False),
    Column("parameters", Plain, nullable=False),
    Column("seed", Whole, nullable=False),
    Column("machine", Plain, ForeignKey("machine.fingerprint"), nullable=False),
    Column("campaign", Whole, nullable=False),
    Column("metrics", Plain, nullable=False),
    Column("choice", Plain),
    Column("token", Plain, nullable=False, server_default=""),
    Column("checksum", Whole),
    UniqueConstraint("family", "campaign", "token"),
)

run = Table(
    "run",
    metadata,
    Column("number", Whole, primary_key=True),
    Column("task", Plain, nullable=False, unique=True),
    Column("study", Plain, ForeignKey("study.key"), nullable=False),
    Column("stage", Plain, nullable=False),
    Column("benchmark", Plain, nullable=False),
    Column("configuration", Plain, nullable=False),
    Column("revision", Plain, nullable=False),
    Column("workload", Plain, nullable=False),
    Column("repetition", Whole, nullable=False),
    Column("machine", Plain, nullable=False),
    Column("started", Plain, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("outcome", Plain, nullable=False),
    Column("detail", Plain, nullable=False),
    Column("exit", Whole),
    Column("output", Plain, nullable=False),
    Column("wall_time", Float),
    Column("user_time", Float),
    Column("system_time", Float),
    Column("peak_memory", Whole),
    Column("voluntary_switches", Whole),
    Column("involuntary_switches", Whole),
    Column("load", Float),
    Column("pressure", Float),
    Column("steal", Float),
    Column("checksum", Whole),
    Column("reset", Float),
    Index(None, "study"),
)

observations = Table(
    "observations",
    metadata,
    Column("run", Whole, ForeignKey("run.number", ondelete="CASCADE"), primary_key=True),
    Column("metric", Plain, primary_key=True),
    Column("unit", Plain, nullable=False),
    Column("warmup", Whole, nullable=False),
    Column("position", Whole, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

event = Table(
    "event",
    metadata,
    Column("id", Plain, primary_key=True),
    Column("finding", Plain, nullable=False),
    Column("what", Plain, nullable=False),
    Column("at", Plain, nullable=False),
    Column("study", Plain, nullable=False),
    Column("reference", Plain, nullable=False),
    Column("revision", Plain, nullable=False),
    Column("sizes", Plain, nullable=False),
    Column("author", Plain, nullable=False),
    Column("reason", Plain, nullable=False),
)

ledger = Table(
    "ledger",
    metadata,
    Column("number", Whole, primary_key=True),
    Column("at", Float, nullable=False),
    Column("what", Plain, nullable=False),
    Column("batch", Whole),
    Column("content", Plain, nullable=False),
)
"""The append-only history of batches, from which ``batch``, ``attempt``, ``lease`` and ``result`` are derived."""

batch = Table(
    "batch",
    metadata,
    Column("number", Whole, primary_key=True, autoincrement=False),
    Column("key", Plain, nullable=False),
    Column("study", Plain, nullable=False),
    Column("state", Plain, nullable=False),
    Column("requirements", Plain, nullable=False),
    Column("tasks", Plain, nullable=False),
    Column("machine", Plain),
    Column("attempts", Whole, nullable=False),
    Column("failures", Whole, nullable=False),
    Column("queue", Plain),
    Index(None, "key"),
    Index("ix_batch_study", "study", "state", "failures", "number"),
)
"""``queue`` is equal for batches of a study with equal requirements; ``machine`` is where a batch has begun."""

attempt = Table(
    "attempt",
    metadata,
    Column("batch", Whole, ForeignKey("batch.number"), primary_key=True, autoincrement=False),
    Column("number", Whole, primary_key=True, autoincrement=False),
    Column("machine", Plain, nullable=False),
    Column("worker", Plain, nullable=False),
    Column("began", Float, nullable=False),
    Column("ended", Float),
    Column("outcome", Plain),
    Column("reason", Plain, nullable=False),
    Column("choice", Plain),
    Index(None, "machine", "ended"),
)
"""``reason`` is why an attempt ended, and ``choice`` why the machine got the batch."""

lease = Table(
    "lease",
    metadata,
    Column("machine", Plain, primary_key=True),
    Column("batch", Whole, ForeignKey("batch.number"), nullable=False, unique=True),
    Column("attempt", Whole, nullable=False),
    Column("worker", Plain, nullable=False),
    Column("until", Float, nullable=False),
)
"""At most one lease for each machine, by the primary key."""

result = Table(
    "result",
    metadata,
    Column("task", Plain, primary_key=True),
    Column("batch", Whole, ForeignKey("batch.number"), nullable=False),
    Column("attempt", Whole, nullable=False),
    Column("entry", Whole, ForeignKey("ledger.number"), nullable=False),
    Index(None, "batch"),
)
"""At most one result for each task; its content is in the ledger."""

report = Table(
    "report",
    metadata,
    Column("task", Plain, primary_key=True),
    Column("machine", Plain, primary_key=True),
    Column("batch", Whole, ForeignKey("batch.number"), nullable=False),
    Column("attempt", Whole, nullable=False),
    Column("entry", Whole, ForeignKey("ledger.number"), nullable=False),
    Column("verdict", Plain),
    Index(None, "batch"),
    Index(None, "machine", "entry"),
)
"""Results of tasks on which several machines have to agree: at most one of each machine; its content is in the ledger.

``verdict`` is empty until they do."""

worker = Table(
    "worker",
    metadata,
    Column("key", Plain, primary_key=True),
    Column("machine", Plain, nullable=False),
    Column("client", Plain, nullable=False),
    Column("seen", Float, nullable=False),
    Column("until", Float, nullable=False),
    Index(None, "machine"),
)
"""The workers; each is present until a time, which it renews."""

client = Table(
    "client",
    metadata,
    Column("machine", Plain, primary_key=True),
    Column("client", Plain, nullable=False),
    Column("seen", Float),
)
"""The machines that said which attributes they have, also those that have no worker now.

``seen`` is their last sign of life before their last worker ended."""

volunteer = Table(
    "volunteer",
    metadata,
    Column("name", Plain, primary_key=True),
    Column("machine", Plain, nullable=False, unique=True),
    Column("fingerprint", Plain, nullable=False),
    Column("token", Plain, nullable=False, unique=True),
    Column("client", Plain, nullable=False),
    Column("registered", Float, nullable=False),
    Column("revoked", Float),
)
"""The registered volunteers. ``token`` is the SHA-256 of a machine's token, and ``fingerprint`` that of its state."""

artefact = Table(
    "artefact",
    metadata,
    Column("sha256", Plain, primary_key=True),
    Column("bytes", Whole, nullable=False),
)
"""Archives of the subject's files, by their content."""

artefact_part = Table(
    "artefact_part",
    metadata,
    Column("sha256", Plain, ForeignKey("artefact.sha256", ondelete="CASCADE"), primary_key=True),
    Column("number", Whole, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)
"""The content of artefacts in parts of equal size, of which the last one may be shorter."""

release = Table(
    "release",
    metadata,
    Column("key", Plain, primary_key=True),
    Column("benchmark", Plain, nullable=False),
    Column("revision", Plain, nullable=False),
    Column("statement", Plain, nullable=False),
    Column("signature", Plain, nullable=False),
    Column("public", Plain, nullable=False),
    Column("artefact", Plain, ForeignKey("artefact.sha256"), nullable=False),
    Column("signed", Float, nullable=False),
)
"""What volunteers may run, as their owner signed it; ``key`` identifies a benchmark's definition and its files."""


@cache
def complete_metadata() -> MetaData:
    """The tables with their partial indexes, which load SQLAlchemy's code for both databases.

    Only creating a store needs them, and every command would wait for that import.
    """
    waits, aside = batch.c.state == text("'open'"), ledger.c.what.in_(map(literal_column, ("'late'", "'duplicate'")))
    _index_part("ix_ledger_accepted", ledger.c.what == text("'accepted'"), ledger.c.at, ledger.c.batch)
    _index_part("ix_ledger_aside", aside, ledger.c.batch, ledger.c.number)
    _index_part("ix_batch_queue", waits & batch.c.machine.is_(None), batch.c.queue, batch.c.number)
    _index_part("ix_batch_begun", waits & batch.c.machine.is_not(None), batch.c.machine, batch.c.number)
    _index_part("ix_batch_failed", batch.c.failures > text("0"), batch.c.number)
    return metadata


def _index_part(name: str, condition: ColumnElement[bool], *columns: Column[Any]) -> None:
    """Add a partial index of the rows that satisfy a condition."""
    Index(name, *columns, sqlite_where=condition, postgresql_where=condition)
