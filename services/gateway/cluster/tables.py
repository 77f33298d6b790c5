"""Rented machines as the provisioner last announced them."""

from sqlalchemy import BigInteger, Column, Table, Uuid
from sqlalchemy.dialects.postgresql import JSON

from services.gateway.platform.tables import metadata

instance = Table(
    "instance",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("changed", JSON, nullable=False),
)
"""Of no tenant: read under the system role by those who may see machines."""
