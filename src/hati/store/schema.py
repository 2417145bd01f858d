"""The tables, as SQLAlchemy knows them; ``migrations`` makes the same."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

HEAD = "0003"
"""The newest migration: a store at this revision needs none."""

Whole = BigInteger().with_variant(Integer, "sqlite")
"""A whole number of 64 bits, which SQLite's INTEGER is."""

metadata = MetaData(
    naming_convention={"ix": "ix_%(table_name)s_%(column_0_name)s", "uq": "uq_%(table_name)s_%(column_0_name)s"}
)

machine = Table(
    "machine",
    metadata,
    Column("fingerprint", Text, primary_key=True),
    Column("properties", Text, nullable=False),
)

study = Table(
    "study",
    metadata,
    Column("number", Whole, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("family", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("seed", Whole, nullable=False),
    Column("machine", Text, ForeignKey("machine.fingerprint"), nullable=False),
    Column("campaign", Whole, nullable=False),
    Column("metrics", Text, nullable=False),
    Column("choice", Text),
    UniqueConstraint("family", "campaign"),
)

run = Table(
    "run",
    metadata,
    Column("number", Whole, primary_key=True),
    Column("task", Text, nullable=False, unique=True),
    Column("study", Text, ForeignKey("study.key"), nullable=False),
    Column("stage", Text, nullable=False),
    Column("benchmark", Text, nullable=False),
    Column("configuration", Text, nullable=False),
    Column("revision", Text, nullable=False),
    Column("workload", Text, nullable=False),
    Column("repetition", Whole, nullable=False),
    Column("machine", Text, nullable=False),
    Column("started", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("exit", Whole),
    Column("output", Text, nullable=False),
    Column("wall_time", Float),
    Column("user_time", Float),
    Column("system_time", Float),
    Column("peak_memory", Whole),
    Column("voluntary_switches", Whole),
    Column("involuntary_switches", Whole),
    Column("load", Float),
    Column("pressure", Float),
    Column("steal", Float),
    Index(None, "study"),
)

observations = Table(
    "observations",
    metadata,
    Column("run", Whole, ForeignKey("run.number", ondelete="CASCADE"), primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("unit", Text, nullable=False),
    Column("warmup", Whole, nullable=False),
    Column("position", Whole, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

event = Table(
    "event",
    metadata,
    Column("id", Text, primary_key=True),
    Column("finding", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("study", Text, nullable=False),
    Column("reference", Text, nullable=False),
    Column("revision", Text, nullable=False),
    Column("sizes", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("reason", Text, nullable=False),
)
