"""Operations of machine pools and rented machines. The provisioner executes them; changes are recorded in the audit log first."""

import asyncio
from contextlib import suppress
from datetime import UTC, date, timedelta

from muster.errors import Conflict, MusterError, NotFound, Rejected
from services.gateway.cluster import store as cluster_store
from services.gateway.cluster.find import load_cluster
from services.gateway.cluster.render import render_instance
from services.gateway.cluster.schema import InstanceRecord, Purchase
from services.gateway.machine_pools.schema import (
    CreateMachinePoolRequest,
    InstanceRequest,
    ListCostsRequest,
    MachineCost,
    MachineCosts,
    MachineKinds,
    MachineOffer,
    MachinePool,
    MachinePoolRequest,
    MachinePools,
    PoolMachines,
    UpdateMachinePoolRequest,
)
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import claim_apart, forget, remember
from services.gateway.platform.references import parse_uuid
from services.gateway.platform.schema import Empty
from shared.ids import SITE, InstanceId, PoolName, new_id
from shared.messages import machine_pools as messages

DEFAULT_DAYS = 30
_LOOKS, _LOOKS_EVERY_S = 40, 0.05


async def list_machine_pools(call: Call, request: Empty) -> MachinePools:
    """List the machine pools by name."""
    return MachinePools(items=[_seen(call, one) for one in await _load(call)])


async def get_machine_pool(call: Call, request: MachinePoolRequest) -> MachinePool:
    """Show the definition of a machine pool, why it cannot grow, and its cost this month."""
    return _seen(call, await _find(call, request.pool))


async def create_machine_pool(call: Call, request: CreateMachinePoolRequest) -> MachinePool:
    """Create a machine pool."""
    operation_id = new_id(call.dependencies.clock)
    earlier = await claim_apart(call, request, operation_id)
    if earlier is not None and earlier.response is not None:
        return MachinePool.model_validate(earlier.response)
    try:
        # A retry is safe: the provisioner accepts an existing pool with the same definition.
        answer = await _set(call, request.name, request, is_new=True)
    except (Rejected, Conflict):
        await forget(call, earlier.operation_id if earlier else operation_id)
        raise
    await _until_known(call, answer.name)
    async with call.transaction() as unit:
        return await remember(call, unit.connection, answer)


async def update_machine_pool(call: Call, request: UpdateMachinePoolRequest) -> MachinePool:
    """Replace the definition of a machine pool. Runs are not affected."""
    call.set_audit_fields(before=_render(await _find(call, request.pool)))
    return await _set(call, request.pool, request, is_new=False)


async def delete_machine_pool(call: Call, request: MachinePoolRequest) -> MachinePool:
    """Delete a machine pool: its machines are terminated as their runs end, then the pool disappears."""
    before = await _find(call, request.pool)
    call.set_audit_fields(before=_render(before))
    await call.record()
    question = messages.CloseMachinePool(pool=before.pool)
    found = await call.dependencies.bus.ask(question, SITE, call.dependencies.timeouts.query_s)
    return _render(next(iter(found.pools), before.model_copy(update={"is_closing": True})))


async def list_machine_kinds(call: Call, request: Empty) -> MachineKinds:
    """List the machine types that can be rented, with zones, prices and current availability."""
    found = await call.dependencies.bus.ask(
        messages.GetMachineKinds(), SITE, call.dependencies.timeouts.query_s
    )
    return MachineKinds(items=[_offer(one) for one in found.offers])


async def terminate_instance(call: Call, request: InstanceRequest) -> InstanceRecord:
    """Terminate a machine immediately. Its trials resume elsewhere; no restart is charged."""
    name = parse_uuid(request.instance)
    if name is None:
        raise NotFound(f"instance {request.instance}", hint="`muster instance list` shows all instances")
    await call.record()
    question = messages.EndInstance(instance_id=InstanceId(name), reason="terminated by an operator")
    ended = await call.dependencies.bus.ask(question, SITE, call.dependencies.timeouts.query_s)
    async with call.dependencies.database.system() as connection:
        row = await cluster_store.load_instance(connection, name)
    if row is None:
        raise NotFound(
            f"instance {request.instance}",
            hint="a new instance is listed after a moment; try again",
        )
    return render_instance(row, call.dependencies.clock.now()).model_copy(update={"state": ended.state})


async def list_machine_costs(call: Call, request: ListCostsRequest) -> MachineCosts:
    """List the cost of rented machines by day, pool, kind and purchase."""
    since, until = period_of(call, request.since, request.until)
    question = messages.GetSpending(since=since, until=until)
    found = await call.dependencies.bus.ask(question, SITE, call.dependencies.timeouts.query_s)
    rows = [row.model_dump(mode="json", exclude={"slot_hours"}) for row in found.rows]
    return MachineCosts(items=[MachineCost.model_validate(row) for row in rows])


def period_of(call: Call, since: str | None, until: str | None) -> tuple[date, date]:
    """Return the first and the last day of the period. Raises Rejected (`invalid_request`)."""
    last = _day(until, "until") or call.dependencies.clock.now().astimezone(UTC).date()
    return _day(since, "since") or last - timedelta(days=DEFAULT_DAYS - 1), last


def _day(given: str | None, place: str) -> date | None:
    try:
        return None if given is None else date.fromisoformat(given)
    except ValueError:
        raise Rejected(
            "invalid_request", f"{given} is not a valid date", place, "use the form 2026-11-22"
        ) from None


async def _set(call: Call, name: str, machines: PoolMachines, is_new: bool) -> MachinePool:
    given = machines.model_dump(mode="json", exclude={"name", "pool"})
    call.set_audit_fields(after=given, entity=f"pool/{name}")
    await call.record()
    definition = messages.PoolDefinition.model_validate(given)
    question = messages.SetMachinePool(pool=PoolName(name), definition=definition, is_new=is_new)
    found = await call.dependencies.bus.ask(question, SITE, call.dependencies.timeouts.query_s)
    return _render(found.pools[0])


async def _until_known(call: Call, pool: str) -> None:
    """Wait until the scheduler knows the pool, so that the caller can submit to it. Gives up after 2 s, or if the scheduler does not answer."""
    with suppress(MusterError):
        for _ in range(_LOOKS):
            if pool in {one.pool for one in (await load_cluster(call)).pools}:
                return
            await asyncio.sleep(_LOOKS_EVERY_S)


async def _load(call: Call, pool: PoolName | None = None) -> tuple[messages.MachinePool, ...]:
    question = messages.GetMachinePools(pool=pool)
    return (await call.dependencies.bus.ask(question, SITE, call.dependencies.timeouts.query_s)).pools


async def _find(call: Call, pool: str) -> messages.MachinePool:
    found = await _load(call, PoolName(pool))
    if not found:
        raise NotFound(f"pool {pool}", hint="`muster pool list` shows all pools")
    return found[0]


def _seen(call: Call, one: messages.MachinePool) -> MachinePool:
    """Hide spending and budget from callers who are not site operators."""
    rendered = _render(one)
    if call.caller.is_site_operator:
        return rendered
    return rendered.model_copy(update={"spent": None, "budget_per_month": None})


def _render(one: messages.MachinePool) -> MachinePool:
    defined = one.definition.model_dump() if one.definition else {}
    known = {
        "name": one.pool,
        "of_settings": one.definition is None,
        "closing": one.is_closing,
        "minimum": one.minimum,
        "maximum": one.maximum,
        "instances": one.instances,
        "spent": one.spent,
        "fault": one.fault,
        "offers": [_offer(offer) for offer in one.offers],
    }
    return MachinePool.model_validate(defined | known)


def _offer(one: messages.OfferView) -> MachineOffer:
    priced_on = one.priced_on.isoformat() if one.priced_on else None
    known = {"purchase": Purchase(one.purchase), "priced_on": priced_on}
    return MachineOffer.model_validate(one.model_dump() | known)
