"""By which words experiments are found. Neighbour: `terms`, which finds them; the database itself keeps the rows, by a trigger."""

from sqlalchemy import Column, Integer, Table, Text, Uuid

from services.gateway.platform.tables import metadata

experiment_term = Table(
    "experiment_term",
    metadata,
    Column("tenant", Uuid, primary_key=True),
    Column("term", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
)
"""`=` and a label, or `~` and three letters of a name in small letters (the last two pieces are shorter)."""
