"""Usage: how many slots were held for how long."""

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel

from shared.ids import ExperimentId, PoolName, TenantId
from shared.messages.base import Query, Record

UsageKey = Literal["day", "tenant", "workspace", "user", "experiment", "pool"]


class SlotUsageRow(Record):
    """Usage in a period. Only the keys that were requested are set. Days are in UTC.

    `cost`: of slots whose price was known, in its currency.
    """

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
    """Return slot-seconds between `since` and `until`, grouped and ordered by `by`. Slots still held count up to now.

    Asked for a tenant, it returns that tenant's usage; asked for the site, that of all tenants.
    """

    by: tuple[UsageKey, ...]
    since: datetime
    until: datetime
    after: tuple[str, ...] | None = None
    limit: int = 1000
