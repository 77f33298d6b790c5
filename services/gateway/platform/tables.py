"""The gateway's tables but for those of access. What is projected from another service's events carries that entity's `version`."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSON

SCHEMA = "gateway"
metadata = MetaData(schema=SCHEMA)

counter = Table(
    "counter",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("experiments", Integer, nullable=False),
    Column("events", BigInteger, nullable=False),
    Column("swept", BigInteger, nullable=False, server_default="0"),
)
"""One row a tenant; changing it gives running numbers without gaps, and events whose order is that of their commits. Held for as short as can be: both wait for it.
`swept`: the last position of the feed that was kept for its time; before it an id cannot be gone on from."""

experiment = Table(
    "experiment",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("workspace", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("labels", ARRAY(Text), nullable=False),
    Column("owner", Text, nullable=False),
    Column("searcher", Text, nullable=False),
    Column("metric", Text),
    Column("smaller_is_better", Boolean, nullable=False),
    Column("config", JSON, nullable=False),
    Column("config_yaml", Text),
    Column("code_sha256", Text),
    Column("forked_from", Uuid),
    Column("trace_id", Text),
    Column("warnings", ARRAY(Text), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    # projected from the searcher's experiment.changed
    Column("version", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text),
    Column("progress", Double, nullable=False),
    Column("best", JSON),
    Column("trials", JSON, nullable=False),
    Column("priority", Integer),
    Column("archived", Boolean, nullable=False),
    Column("final", Boolean, nullable=False),
    Column("started_at", DateTime(timezone=True)),
    Column("ended_at", DateTime(timezone=True)),
    Column("terms", JSON),
    Column("budget", JSON),
    # projected from the scheduler's request.ranked
    Column("rank", JSON),
    Column("rank_version", BigInteger, nullable=False),
    # the gateway's own: it is being deleted, and was ended for that
    Column("deleting", Boolean, nullable=False),
    Column("killed", Boolean, nullable=False),
)
"""The submission (ours) and, beside it, what searcher and scheduler last said of the experiment."""

trial = Table(
    "trial",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("experiment", Uuid, nullable=False),
    Column("number", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("best_value", Double),
    Column("changed", JSON, nullable=False),
)

run = Table(
    "run",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("trial", Uuid, nullable=False),
    Column("number", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("changed", JSON, nullable=False),
)

model = Table(
    "model",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("tags", ARRAY(Text), nullable=False),
    Column("is_deleted", Boolean, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("changed", JSON, nullable=False),
)

model_version = Table(
    "model_version",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("model", Uuid, nullable=False),
    Column("number", Integer, nullable=False),
    Column("is_deleted", Boolean, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("changed", JSON, nullable=False),
)

instance = Table(
    "instance",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("changed", JSON, nullable=False),
)
"""Of no tenant: read under the system role by those who may see machines."""

code = Table(
    "code",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("sha256", Text, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("files", ARRAY(Text)),
)

operation = Table(
    "operation",
    metadata,
    Column("tenant", Uuid, nullable=False),
    Column("id", Uuid, primary_key=True),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("code", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("hint", Text),
)
"""Commands that their owner refused; kept a day."""

limits = Table(
    "limits",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("workspace", Text, primary_key=True),
    Column("pool", Text, primary_key=True),
    Column("guaranteed", Integer, nullable=False),
    Column("maximum", Integer),
    Column("weight", Double, nullable=False),
    Column("version", BigInteger, nullable=False),
)
"""What tenants may hold; an empty workspace is the tenant as a whole."""

idempotency = Table(
    "idempotency",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("operation", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("entity", Uuid, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("response", JSON),
    Column("created_at", DateTime(timezone=True), nullable=False),
)

event = Table(
    "event",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("position", BigInteger, primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("kind", Text, nullable=False),
    Column("change", Text, nullable=False),
    Column("entity", Uuid, nullable=False),
    Column("experiment", Uuid),
    Column("version", BigInteger, nullable=False),
    Column("resource", JSON, nullable=False),
)

storage_limit = Table(
    "storage_limit",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("maximum_bytes", BigInteger),
    Column("version", BigInteger, nullable=False),
)
"""How many bytes a tenant may store, as the registry was told."""
