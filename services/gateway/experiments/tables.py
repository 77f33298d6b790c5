"""Tables of experiments and of the search terms of their labels and names."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Double, Integer, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, JSON

from services.gateway.platform.tables import metadata

experiment_search_term = Table(
    "experiment_search_term",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("term", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
)
"""Terms: `=` and a label, or `~` and a lowercase trigram of the name (the last two are shorter). A trigger maintains the rows."""

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
    Column("search_changes", JSON),
    Column("budget", JSON),
    # projected from the scheduler's request.ranked
    Column("queue_policy", JSON),
    Column("queue_policy_version", BigInteger, nullable=False),
    # the gateway's own: whether it is being deleted, and was killed for that
    Column("deleting", Boolean, nullable=False),
    Column("killed", Boolean, nullable=False),
)
"""The submission, which the gateway owns, and the state last announced by searcher and scheduler."""
