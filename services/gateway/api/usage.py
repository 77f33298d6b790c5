"""Usage as users and operators see it: who held how many slots for how long."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from services.gateway.api.base import Request, Resource


class UsageKey(StrEnum):
    """What usage is added up by."""

    TENANT = "tenant"
    WORKSPACE = "workspace"
    USER = "user"
    EXPERIMENT = "experiment"
    POOL = "pool"


class UsageRow(Resource):
    """What was used by one of each key that was asked for."""

    tenant: str | None = None
    workspace: str | None = None
    user: str | None = None
    experiment: int | None = Field(default=None, description="Its number.")
    experiment_name: str | None = None
    pool: str | None = None
    slot_seconds: float = Field(
        description="From each grant until the worker had let go; what is held still counts up to now."
    )


class Usage(Resource):
    """Slot-seconds in a period, exact to the second, in the order of the keys."""

    since: datetime
    until: datetime
    by: list[UsageKey]
    items: list[UsageRow]
    slot_seconds: float = Field(description="All of them together.")


class UsageRequest(Request):
    """A period (by default the last 30 days; times without a zone are UTC) and what to add up by."""

    by: Annotated[list[UsageKey], Field(min_length=1, max_length=5)] = [UsageKey.WORKSPACE]
    since: datetime | None = None
    until: datetime | None = None
