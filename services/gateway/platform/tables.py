"""The schema of the gateway's tables. A table that another service's events are projected into carries the entity's `version`."""

from sqlalchemy import MetaData

SCHEMA = "gateway"
metadata = MetaData(schema=SCHEMA)
