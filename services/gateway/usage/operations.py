"""Usage: asked of the scheduler page by page, with names in the place of ids; as JSON, or as CSV for a spreadsheet."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from muster.errors import Rejected
from services.gateway.experiments import store
from services.gateway.platform.auth import token_store as access
from services.gateway.platform.auth.grants import TENANT, Place
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call import Call
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_terms import CLUSTER, SAFE
from services.gateway.usage.core import SUMS, Part, by_label, keys_of
from services.gateway.usage.schema import Usage, UsageKey, UsageRequest, UsageRow
from shared.ids import SITE, TenantId
from shared.messages.usage import GetUsage, Used

_PERIOD = timedelta(days=30)
_MOST_ROWS = 50_000
DELETED = "(deleted tenants)"
_OPEN_TO_OPERATORS = frozenset({UsageKey.TENANT, UsageKey.POOL, UsageKey.DAY})


async def get_usage(call: Call, request: UsageRequest) -> Usage:
    """Adds up the slot-seconds and cost of the caller's tenant in a period; an operator sees those of every tenant, by tenant and pool."""
    by = list(dict.fromkeys(request.by))
    if not (by or request.by_label):
        by = [UsageKey.WORKSPACE]
    is_site = call.caller.keeps_site and (
        UsageKey.TENANT in by or not call.caller.grants.holds(Permission.EXPERIMENT_READ)
    )
    if is_site and (request.by_label or not _OPEN_TO_OPERATORS.issuperset(by)):
        raise Rejected(
            "forbidden",
            "an operator sees tenants and pools, not what is inside of a tenant",
            "by",
            "add up by tenant, pool or both",
        )
    sees = _sees(call, by)
    since, until = _period(call, request)
    keys = keys_of(by, request.by_label)
    used = await load_used(call, GetUsage(by=keys, since=since, until=until), is_site)
    seen = [one for one in used if sees(one.workspace)]
    if request.by_label:
        items = await named(call, by_label(seen, await _labels(call, seen), by))
    else:
        items = await named(call, [Part(one) for one in seen])
    return Usage(since=since, until=until, by=by, by_label=request.by_label, items=items, **_sums(items))


async def load_used(call: Call, question: GetUsage, is_site: bool) -> list[Used]:
    """All pages of what the caller's tenant has used, or of the site. Raises Rejected (`too_many_rows`)."""
    tenant = SITE if is_site else call.tenant
    used: list[Used] = []
    while True:
        page = await call.doors.bus.ask(question, tenant, call.doors.query_timeout_s)
        used += page.rows
        if page.next is None:
            return used
        if len(used) >= _MOST_ROWS:
            raise Rejected(
                "too_many_rows",
                f"there are more than {_MOST_ROWS} rows",
                "by",
                "take a shorter period, or add up by fewer keys",
            )
        question = question.model_copy(update={"after": page.next})


async def named(call: Call, parts: Sequence[Part]) -> list[UsageRow]:
    """With names in the place of ids."""
    used = [part.used for part in parts]
    tenants = {call.tenant: call.caller.tenant_name, SITE: DELETED}
    numbered: Mapping[UUID, tuple[int, str]] = {}
    foreign = {one.tenant for one in used if one.tenant} - tenants.keys()
    if foreign:
        async with call.doors.database.system() as connection:
            tenants |= await access.load_tenant_names(connection, foreign)
    experiments = {one.experiment for one in used if one.experiment}
    if experiments:
        async with call.read() as connection:
            numbered = await store.load_names(connection, experiments)
    return [_row(part, tenants, numbered) for part in parts]


def usage_csv(usage: Usage) -> str:
    """A line of names, then one for each row."""
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
    """Which workspaces' usage the caller may see. Raises Rejected where it would be in one sum with that of others."""
    grants, needed = call.caller.grants, Permission.CLUSTER_READ
    if grants.holds(needed, TENANT):
        return lambda _: True
    if UsageKey.WORKSPACE not in by:
        raise Rejected(
            "forbidden",
            "you see what some workspaces use, not what the tenant does",
            "by",
            "add up by workspace too",
        )
    return lambda workspace: grants.holds(needed, Place(workspace))


def _period(call: Call, request: UsageRequest) -> tuple[datetime, datetime]:
    until = _aware(request.until or call.doors.clock.now())
    if request.since and request.days:
        raise Rejected("bad_period", "the period has two beginnings", "days", "give `since` or `days`")
    since = _aware(request.since) if request.since else _beginning(until, request.days)
    if since >= until:
        raise Rejected(
            "bad_period",
            f"the period would begin at {since:%Y-%m-%d %H:%M:%S} and end at {until:%Y-%m-%d %H:%M:%S} UTC",
            "since",
            "give a `since` that lies before `until`",
        )
    return since, until


def _beginning(until: datetime, days: int | None) -> datetime:
    """Midnight of the first of so many days; the day that ends with `until` is one of them."""
    if days is None:
        return until - _PERIOD
    last = (until - timedelta(microseconds=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return last - timedelta(days=days - 1)


def _aware(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _sums(items: list[UsageRow]) -> dict[str, float]:
    return {name: round(sum(getattr(item, name) for item in items), 6) for name in SUMS}


async def _labels(call: Call, used: list[Used]) -> Mapping[UUID, list[str]]:
    experiments = {one.experiment for one in used if one.experiment}
    async with call.read() as connection:
        return await store.load_labels(connection, experiments)


def _row(part: Part, tenants: Mapping[TenantId, str], numbered: Mapping[UUID, tuple[int, str]]) -> UsageRow:
    used = part.used
    number, name = numbered.get(used.experiment, (None, None)) if used.experiment else (None, None)
    return UsageRow(
        day=used.day.isoformat() if used.day else None,
        tenant=tenants.get(used.tenant, str(used.tenant)) if used.tenant else None,
        workspace=used.workspace,
        user=used.user,
        experiment=number,
        experiment_name=name,
        pool=used.pool,
        label=part.label,
        slot_seconds=round(used.slot_seconds, 3),
        cost=round(used.cost, 6),
        unpriced_slot_seconds=round(used.unpriced_slot_seconds, 3),
    )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("GetUsage", "GET", "/v1/usage", UsageRequest, Usage, CLUSTER, SAFE, get_usage, csv=usage_csv, waits=True),
)
# fmt: on
