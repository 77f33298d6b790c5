"""Operation that reports slot usage and cost, as JSON or CSV. The scheduler holds the data."""

import csv
import io
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

from muster.errors import Rejected
from services.gateway.experiments import store
from services.gateway.platform.auth.grants import TENANT_SCOPE, Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import CLUSTER, SAFE
from services.gateway.usage.core import SUMS, LabelledUsage, UsageKey, by_label, keys_of
from services.gateway.usage.find import load_used, named
from services.gateway.usage.schema import Usage, UsageRequest, UsageRow
from shared.messages.usage import GetUsage, SlotUsageRow

_PERIOD = timedelta(days=30)
_OPEN_TO_OPERATORS = frozenset({UsageKey.TENANT, UsageKey.POOL, UsageKey.DAY})


async def get_usage(call: Call, request: UsageRequest) -> Usage:
    """Get the slot-seconds and cost of the caller's tenant in a period. Operators get those of all tenants, by tenant, pool and day."""
    by = list(dict.fromkeys(request.by))
    if not (by or request.by_label):
        by = [UsageKey.WORKSPACE]
    is_site = call.caller.is_site_operator and (
        UsageKey.TENANT in by or not call.caller.grants.holds(Permission.EXPERIMENT_READ)
    )
    if is_site and (request.by_label or not _OPEN_TO_OPERATORS.issuperset(by)):
        raise Rejected(
            "forbidden",
            "operators can see usage by tenant, pool and day only, not within a tenant",
            "by",
            "use only `tenant`, `pool` and `day` in `by`",
        )
    sees = _sees(call, by)
    since, until = _period(call, request)
    keys = keys_of(by, request.by_label)
    used = await load_used(call, GetUsage(by=keys, since=since, until=until), is_site)
    seen = [one for one in used if sees(one.workspace)]
    if request.by_label:
        items = await named(call, by_label(seen, await _labels(call, seen), by))
    else:
        items = await named(call, [LabelledUsage(one) for one in seen])
    return Usage(since=since, until=until, by=by, by_label=request.by_label, items=items, **_sums(items))


def usage_csv(usage: Usage) -> str:
    """Render usage as CSV with a header line."""
    columns = [str(key) for key in usage.by]
    if UsageKey.EXPERIMENT in usage.by:
        columns.insert(columns.index("experiment") + 1, "experiment_name")
    columns += ["label", *SUMS] if usage.by_label else SUMS
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(columns)
    for item in usage.items:
        table.writerow([getattr(item, column) for column in columns])
    return written.getvalue()


def _sees(call: Call, by: list[UsageKey]) -> Callable[[str | None], bool]:
    """Return a predicate for the workspaces whose usage the caller may read. Raises Rejected if the sums would include other workspaces."""
    grants, needed = call.caller.grants, Permission.CLUSTER_READ
    if grants.holds(needed, TENANT_SCOPE):
        return lambda _: True
    if UsageKey.WORKSPACE not in by:
        raise Rejected(
            "forbidden",
            "you may read the usage of some workspaces only, not of the whole tenant",
            "by",
            "add `workspace` to `by`",
        )
    return lambda workspace: grants.holds(needed, Scope(workspace))


def _period(call: Call, request: UsageRequest) -> tuple[datetime, datetime]:
    until = _aware(request.until or call.dependencies.clock.now())
    if request.since and request.days:
        raise Rejected(
            "bad_period", "`since` and `days` cannot be set together", "days", "leave one of them out"
        )
    since = _aware(request.since) if request.since else _beginning(until, request.days)
    if since >= until:
        raise Rejected(
            "bad_period",
            f"the period's start, {since:%Y-%m-%d %H:%M:%S} UTC, is not before its end, {until:%Y-%m-%d %H:%M:%S} UTC",
            "since",
            "set `since` to a time before `until`",
        )
    return since, until


def _beginning(until: datetime, days: int | None) -> datetime:
    """Return the start (UTC midnight) of the period of `days` days that includes the day of `until`; by default 30 times 24 hours before it."""
    if days is None:
        return until - _PERIOD
    last = (until - timedelta(microseconds=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return last - timedelta(days=days - 1)


def _aware(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _sums(items: list[UsageRow]) -> dict[str, float]:
    return {name: round(sum(getattr(item, name) for item in items), 6) for name in SUMS}


async def _labels(call: Call, used: list[SlotUsageRow]) -> Mapping[UUID, list[str]]:
    experiments = {one.experiment for one in used if one.experiment}
    async with call.read() as connection:
        return await store.load_labels(connection, experiments)


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("GetUsage", "GET", "/v1/usage", UsageRequest, Usage, CLUSTER, SAFE, get_usage, csv=usage_csv, waits=True),
)
# fmt: on
