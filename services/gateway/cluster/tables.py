"""Table of rented machines, as last announced by the provisioner."""

from sqlalchemy import BigInteger, Column, Table, Uuid
from sqlalchemy.dialects.postgresql import JSON

from services.gateway.platform.tables import metadata

instance = Table(
    "instance",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("last_event", JSON, nullable=False),
)
"""Belongs to no tenant: operations with permission to see machines read it under the system role."""
