"""The tables as SQLAlchemy sees them; the migrations make them. The hot paths (`reports`, `logs`) speak SQL directly."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Float,
    Integer,
    MetaData,
    Table,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

METADATA = MetaData(schema="registry")
_INSTANT = DateTime(timezone=True)

experiments = Table(
    "experiments",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("tenant", Uuid),
    Column("save_experiment_best", Integer),
    Column("save_trial_best", Integer),
    Column("save_trial_latest", Integer),
    Column("version", BigInteger),
    Column("is_final", Boolean),
    Column("final_at", _INSTANT),
    Column("collected_at", _INSTANT),
)

trials = Table(
    "trials",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("tenant", Uuid),
    Column("experiment", Uuid),
    Column("newest_token", BigInteger),
    Column("wanted_version", BigInteger),
    Column("changed_version", BigInteger),
    Column("hyperparameters", JSONB),
    Column("code_hash", Text),
    Column("metric", Text),
    Column("smaller_is_better", Boolean),
    Column("start_checkpoint", Uuid),
    Column("upload_timeout_s", Float),
    Column("is_final", Boolean),
    Column("final_at", _INSTANT),
)

runs = Table(
    "runs",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("tenant", Uuid),
    Column("trial", Uuid),
    Column("experiment", Uuid),
    Column("number", Integer),
    Column("token", BigInteger),
    Column("version", BigInteger),
    Column("ending", Text),
    Column("ended_at", _INSTANT),
    Column("announced", Integer),
    Column("is_settled", Boolean),
    Column("is_stale", Boolean),
    Column("resumed_from", BigInteger),
    Column("restored", Uuid),
    Column("superseded_after", BigInteger),
    Column("first_day", Date),
    Column("granted_at", _INSTANT),
    Column("slots", Float),
    Column("outcome", Text),
)

marks = Table(
    "marks",
    METADATA,
    Column("run", Uuid, primary_key=True),
    Column("worker", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("tenant", Uuid),
    Column("next", BigInteger),
    Column("is_stale", Boolean),
    Column("superseded_after", BigInteger),
)

series = Table(
    "series",
    METADATA,
    Column("id", BigInteger, primary_key=True),
    Column("tenant", Uuid),
    Column("trial", Uuid),
    Column("run", Uuid),
    Column("group", Text),
    Column("name", Text),
    Column("count", BigInteger),
    Column("finite", BigInteger),
    Column("least", Float),
    Column("greatest", Float),
    Column("total", Float),
    Column("last", Float),
    Column("last_step", BigInteger),
    Column("first_step", BigInteger),
)

validations = Table(
    "validations",
    METADATA,
    Column("run", Uuid, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("tenant", Uuid),
    Column("trial", Uuid),
    Column("experiment", Uuid),
    Column("step", BigInteger),
    Column("values", JSONB),
    Column("is_stale", Boolean),
    Column("stored_at", _INSTANT),
)

checkpoints = Table(
    "checkpoints",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("tenant", Uuid),
    Column("experiment", Uuid),
    Column("trial", Uuid),
    Column("run", Uuid),
    Column("run_number", Integer),
    Column("token", BigInteger),
    Column("number", Integer),
    Column("step", BigInteger),
    Column("state", Text),
    Column("version", BigInteger),
    Column("attempts", Integer),
    Column("files", Integer),
    Column("size_bytes", BigInteger),
    Column("waits_for", ARRAY(Text)),
    Column("parts", ARRAY(Text)),
    Column("metadata", JSONB),
    Column("reason", Text),
    Column("created_at", _INSTANT),
    Column("changed_at", _INSTANT),
)

checkpoint_files = Table(
    "checkpoint_files",
    METADATA,
    Column("checkpoint", Uuid, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("tenant", Uuid),
    Column("worker", Text),
    Column("key", Text),
    Column("size_bytes", BigInteger),
    Column("sha256", Text),
)

objects = Table(
    "objects",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("tenant", Uuid),
    Column("sha256", Text),
    Column("size_bytes", BigInteger),
    Column("state", Text),
    Column("unused_since", _INSTANT),
)

artifacts = Table(
    "artifacts",
    METADATA,
    Column("tenant", Uuid, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("sha256", Text, primary_key=True),
    Column("size_bytes", BigInteger),
    Column("key", Text),
    Column("created_at", _INSTANT),
)

models = Table(
    "models",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("tenant", Uuid),
    Column("name", Text),
    Column("key", Text),
    Column("description", Text),
    Column("metadata", JSONB),
    Column("by", Text),
    Column("version", BigInteger),
    Column("versions", Integer),
    Column("created_at", _INSTANT),
)

versions = Table(
    "versions",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("tenant", Uuid),
    Column("model", Uuid),
    Column("number", Integer),
    Column("checkpoint", Uuid),
    Column("name", Text),
    Column("comment", Text),
    Column("metadata", JSONB),
    Column("by", Text),
    Column("lineage", JSONB),
    Column("created_at", _INSTANT),
)
