"""Loads usage from the scheduler and replaces ids by names."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from muster.errors import Rejected
from services.gateway.experiments import store
from services.gateway.platform.auth.store import tokens as access
from services.gateway.platform.call_context import Call
from services.gateway.usage.core import LabelledUsage
from services.gateway.usage.schema import UsageRow
from shared.ids import SITE, TenantId
from shared.messages.usage import GetUsage, SlotUsageRow

_MOST_ROWS = 50_000
DELETED = "(deleted tenants)"


async def load_used(call: Call, question: GetUsage, is_site: bool) -> list[SlotUsageRow]:
    """Load all pages of the usage of the caller's tenant or of the site. Raises Rejected (`too_many_rows`)."""
    tenant = SITE if is_site else call.tenant
    used: list[SlotUsageRow] = []
    while True:
        page = await call.dependencies.bus.ask(question, tenant, call.dependencies.timeouts.query_s)
        used += page.rows
        if page.next is None:
            return used
        if len(used) >= _MOST_ROWS:
            raise Rejected(
                "too_many_rows",
                f"the result has more than {_MOST_ROWS} rows",
                "by",
                "use a shorter period or fewer keys in `by`",
            )
        question = question.model_copy(update={"after": page.next})


async def named(call: Call, parts: Sequence[LabelledUsage]) -> list[UsageRow]:
    """Render usage with names in place of ids."""
    used = [part.used for part in parts]
    tenants = {call.tenant: call.caller.tenant_name, SITE: DELETED}
    numbered: Mapping[UUID, tuple[int, str]] = {}
    foreign = {one.tenant for one in used if one.tenant} - tenants.keys()
    if foreign:
        async with call.dependencies.database.system() as connection:
            tenants |= await access.load_tenant_names(connection, foreign)
    experiments = {one.experiment for one in used if one.experiment}
    if experiments:
        async with call.read() as connection:
            numbered = await store.load_names(connection, experiments)
    return [_row(part, tenants, numbered) for part in parts]


def _row(
    part: LabelledUsage, tenants: Mapping[TenantId, str], numbered: Mapping[UUID, tuple[int, str]]
) -> UsageRow:
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
