"""Usage: who held how many slots for how long."""

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel

from shared.ids import ExperimentId, PoolName, TenantId
from shared.messages.base import Query, Record

UsageKey = Literal["day", "tenant", "workspace", "user", "experiment", "pool"]


class SlotUsageRow(Record):
    """What was used in the period; of the keys, those are set that were asked for. `cost` is of slots whose price was known, in its currency.
    Days are of UTC."""

    day: date | None = None
    tenant: TenantId | None = None
    workspace: str | None = None
    user: str | None = None
    experiment: ExperimentId | None = None
    pool: PoolName | None = None
    slot_seconds: float
    cost: float = 0.0
    unpriced_slot_seconds: float = 0.0


class UsagePage(BaseModel):
    rows: tuple[SlotUsageRow, ...]
    next: tuple[str, ...] | None = None


class GetUsage(Query[UsagePage], owner="scheduler", name="usage"):
    """Slot-seconds between `since` and `until` by each of `by`, in the order of the keys; what is held still counts up to now.

    Asked for a tenant it tells of that tenant alone, asked for the site of all.
    """

    by: tuple[UsageKey, ...]
    since: datetime
    until: datetime
    after: tuple[str, ...] | None = None
    limit: int = 1000
