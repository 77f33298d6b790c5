"""Request and response for slot usage and cost."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Request, Resource
from services.gateway.usage.core import UsageKey


class UsageRow(Resource):
    """Usage of one group, with the requested keys."""

    day: str | None = Field(default=None, description="Day in UTC, such as 2026-11-22.")
    tenant: str | None = None
    workspace: str | None = None
    user: str | None = None
    experiment: int | None = Field(default=None, description="Number of the experiment.")
    experiment_name: str | None = None
    pool: str | None = None
    label: str | None = Field(
        default=None,
        description="Null: no label. The usage of an experiment with several labels is split equally among them.",
    )
    slot_seconds: float = Field(
        description="Counted from each grant until the worker released the slots; slots that are still held count up to now."
    )
    cost: float = Field(
        default=0.0,
        description="Cost of the slots with a known price, at the price when they were granted and in the currency of the prices.",
    )
    unpriced_slot_seconds: float = Field(
        default=0.0, description="Slot-seconds without a known price. `cost` does not include them."
    )


class Usage(Resource):
    """Slot-seconds and cost in a period, exact to the second. Rows are sorted by the keys and add up to the totals."""

    since: datetime
    until: datetime
    by: list[UsageKey]
    by_label: bool = False
    items: list[UsageRow]
    slot_seconds: float = Field(description="Total of all rows.")
    cost: float = Field(default=0.0, description="Total of all rows.")
    unpriced_slot_seconds: float = Field(default=0.0, description="Total of all rows.")


class UsageRequest(Request):
    """A period and the keys to group by. The default period is the last 30 times 24 hours. Times without a zone are UTC."""

    by: Annotated[list[UsageKey], Field(max_length=6)] = Field(
        default=[], description="Keys to group by. Default: `workspace`, or no key if `by_label` is set."
    )
    by_label: bool = Field(default=False, description="Group by label too, after the other keys.")
    since: datetime | None = None
    until: datetime | None = None
    days: Annotated[int, Field(ge=1, le=366)] | None = Field(
        default=None,
        description="Instead of `since`: length of the period in days of UTC, including the day of `until`.",
    )
