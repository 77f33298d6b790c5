"""The scheduler's tables. Only the cycle writes trials, runs and usage entries, except for `run.settled`; handlers
write the rest."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Sequence,
    Table,
    Text,
    Uuid,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

SCHEMA = "scheduler"
_metadata = MetaData(schema=SCHEMA)
_Time = DateTime(timezone=True)

token_block = Sequence("token_block", schema=SCHEMA)
"""Tokens increase across terms: each leader reserves a block at a time."""

trial_request = Table(
    "trial_request",
    _metadata,
    Column("trial", Uuid, primary_key=True),
    Column("tenant", Uuid, nullable=False),
    Column("experiment", Uuid, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("request", Integer, nullable=False),
    Column("desired_state", Text, nullable=False),
    Column("decide_at", Double),
    Column("spec", JSONB, nullable=False),
    Column("traceparent", Text),
    Column("stored_at", _Time, nullable=False, server_default=func.now()),
)
"""The newest request of each trial, as received."""

trial = Table(
    "trial",
    _metadata,
    Column("trial", Uuid, primary_key=True),
    Column("tenant", Uuid, nullable=False),
    Column("experiment", Uuid, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("request", Integer, nullable=False),
    Column("desired_state", Text, nullable=False),
    Column("decide_at", Double),
    Column("state", Text, nullable=False),
    Column("submission_order", BigInteger, nullable=False),
    Column("since", _Time, nullable=False),
    Column("restarts", Integer, nullable=False),
    Column("runs_without_progress", Integer, nullable=False),
    Column("runs", Integer, nullable=False),
    Column("best_step", BigInteger, nullable=False),
    Column("run", Uuid),
    Column("awaited_run", Uuid),
    Column("awaited_checkpoints", Integer),
    Column("not_before", _Time),
    Column("submitted_at", _Time),
    Column("preemptions", Integer, nullable=False),
    Column("time_slice_ended_at", _Time),
    Column("ignores_signals", Boolean, nullable=False),
    Column("elastic", JSONB),
    Column("excluded", JSONB, nullable=False),
)

run = Table(
    "run",
    _metadata,
    Column("run", Uuid, primary_key=True),
    Column("tenant", Uuid, nullable=False),
    Column("trial", Uuid, nullable=False),
    Column("experiment", Uuid, nullable=False),
    Column("allocation", Uuid, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),
    Column("request", Integer, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("pool", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("members", JSONB, nullable=False),
    Column("preempted", Boolean, nullable=False),
    Column("is_stale", Boolean, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("announced", Integer),
    Column("settled", Integer, nullable=False, server_default="0"),
    Column("granted_at", _Time, nullable=False),
    Column("ended_at", _Time),
    Column("exits", JSONB, nullable=False),
    Column("first_exit_at", _Time),
    Column("pause_requested", Boolean, nullable=False),
    Column("preemption_cause", Text),
    Column("preempted_for", Uuid),
    Column("resume_slots", Integer),
    Column("live_resize", JSONB),
    Column("pause_times", JSONB),
)
"""`settled` counts checkpoints that were committed or abandoned; handlers increase it."""

usage_entry = Table(
    "usage_entry",
    _metadata,
    Column("allocation", Uuid, primary_key=True),
    Column("worker", Text, primary_key=True),
    Column("since", _Time, primary_key=True),
    Column("tenant", Uuid, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("experiment", Uuid, nullable=False),
    Column("pool", Text, nullable=False),
    Column("slots", Numeric, nullable=False),
    Column("until", _Time),
    Column("price_per_slot_hour", Double),
)
"""Usage entries: which slots of a worker were held from when until when. `until` is null while they are held."""

experiment_policy = Table(
    "experiment_policy",
    _metadata,
    Column("experiment", Uuid, primary_key=True),
    Column("tenant", Uuid, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("weight", Double, nullable=False),
    Column("max_slots", Integer),
    Column("pool", Text),
    Column("max_trials", Integer),
)
"""An experiment's policy in the queue."""

worker = Table(
    "worker",
    _metadata,
    Column("worker", Text, primary_key=True),
    Column("pool", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("labels", JSONB, nullable=False),
    Column("kind", Text),
    Column("slot_ids", ARRAY(Integer), nullable=False),
    Column("liveness", Text, nullable=False),
    Column("drain", Text, nullable=False),
    Column("is_isolated", Boolean, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("joined_at", _Time, nullable=False),
    # written by handlers
    Column("drain_requested", Boolean, nullable=False),
    Column("reclaim", Boolean, nullable=False),
    Column("is_removed", Boolean, nullable=False),
    Column("disabled_slots", ARRAY(Integer), nullable=False),
    Column("user_key", Text),
    Column("credentials_until", _Time),
)

join_token = Table(
    "join_token",
    _metadata,
    Column("hash", LargeBinary, primary_key=True),
    Column("pool", Text, nullable=False),
    Column("worker", Text),
    Column("expires_at", _Time, nullable=False),
    Column("used_by", Text),
    Column("used_key", Text),
    Column("used_at", _Time),
)

pool = Table(
    "pool",
    _metadata,
    Column("name", Text, primary_key=True),
    Column("kind", Text),
    Column("preemption", Boolean, nullable=False),
    Column("exclusive", Boolean, nullable=False),
    Column("auxiliary_per_worker", Integer, nullable=False),
    Column("default_priority", Integer, nullable=False),
    Column("rules", JSONB, nullable=False),
    Column("is_edited", Boolean, nullable=False),
    # what the pool's provider can add
    Column("max_slots", Integer),
    Column("max_slots_per_worker", Integer),
    Column("provided_kind", Text),
    Column("provided_labels", JSONB, nullable=False),
    Column("price_per_slot_hour", Double),
    Column("is_closing", Boolean, nullable=False),
    Column("provider_fault", Text),
    Column("provider_version", BigInteger, nullable=False),
)

quota = Table(
    "quota",
    _metadata,
    Column("pool", Text, primary_key=True),
    Column("tenant", Uuid, primary_key=True),
    Column("workspace", Text, primary_key=True),
    Column("guaranteed", Integer, nullable=False),
    Column("maximum", Integer),
    Column("weight", Double, nullable=False),
    Column("version", BigInteger, nullable=False),
)
"""Limits of tenants; an empty workspace means the tenant as a whole."""

reservation = Table(
    "reservation",
    _metadata,
    Column("reservation", Uuid, primary_key=True),
    Column("pool", Text, nullable=False),
    Column("tenant", Uuid, nullable=False),
    Column("workspace", Text, nullable=False),
    Column("slots", Integer, nullable=False),
    Column("begins_at", _Time, nullable=False),
    Column("ends_at", _Time, nullable=False),
)

budget = Table(
    "budget",
    _metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("workspace", Text, primary_key=True),
    Column("per_month", Double, nullable=False),
    Column("preempts", Boolean, nullable=False),
)

budget_notice = Table(
    "budget_notice",
    _metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("workspace", Text, primary_key=True),
    Column("month", _Time, primary_key=True),
    Column("per_month", Double, primary_key=True),
    Column("percent", Integer, primary_key=True),
)
"""Budget thresholds that were published to each tenant."""
