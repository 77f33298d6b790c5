"""The database schema of the gateway. Tables with projections of another service's events have the entity's `version`."""

from sqlalchemy import MetaData

SCHEMA = "gateway"
metadata = MetaData(schema=SCHEMA)
