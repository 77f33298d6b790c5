"""Usage as users and operators see it: who held how many slots for how long."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Request, Resource
from services.gateway.usage.core import UsageKey


class UsageRow(Resource):
    """What was used by one of each key that was asked for."""

    day: str | None = Field(default=None, description="As 2026-11-22, in UTC.")
    tenant: str | None = None
    workspace: str | None = None
    user: str | None = None
    experiment: int | None = Field(default=None, description="Its number.")
    experiment_name: str | None = None
    pool: str | None = None
    label: str | None = Field(
        default=None,
        description="None: no label. What several labels used is divided among them in equal parts.",
    )
    slot_seconds: float = Field(
        description="From each grant until the worker had let go; what is held still counts up to now."
    )
    cost: float = Field(
        default=0.0,
        description="Of slots with a known price, as it was at the grant; in the prices' currency.",
    )
    unpriced_slot_seconds: float = Field(
        default=0.0, description="Of slots without a known price: they are in no cost."
    )


class Usage(Resource):
    """Slot-seconds and cost in a period, exact to the second, in the order of the keys; the rows add up to the whole."""

    since: datetime
    until: datetime
    by: list[UsageKey]
    by_label: bool = False
    items: list[UsageRow]
    slot_seconds: float = Field(description="All of them together.")
    cost: float = Field(default=0.0, description="All of them together.")
    unpriced_slot_seconds: float = Field(default=0.0, description="All of them together.")


class UsageRequest(Request):
    """A period (by default the last 30 times 24 hours; times without a zone are UTC) and what to add up by."""

    by: Annotated[list[UsageKey], Field(max_length=6)] = Field(
        default=[], description="By default workspace, or with `by_label` nothing else."
    )
    by_label: bool = Field(default=False, description="True adds up by label too, after the other keys.")
    since: datetime | None = None
    until: datetime | None = None
    days: Annotated[int, Field(ge=1, le=366)] | None = Field(
        default=None, description="In place of `since`: so many days of UTC, that of the end counted."
    )
