"""Pools of rented machines, for who keeps the site: shown, defined and closed, machines ended, and what they have cost. The provisioner keeps them; here is
asked, and recorded before."""

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
from services.gateway.platform.call import Call
from services.gateway.platform.commands.idempotency import claim_apart, forget, remember
from services.gateway.platform.references import parse_uuid
from services.gateway.platform.schema import Empty
from shared.ids import SITE, InstanceId, PoolName, new_id
from shared.messages import machine_pools as messages

DEFAULT_DAYS = 30
_LOOKS, _LOOKS_EVERY_S = 40, 0.05


async def list_machine_pools(call: Call, request: Empty) -> MachinePools:
    """Lists the pools of rented machines by name."""
    return MachinePools(items=[_seen(call, one) for one in await _load(call)])


async def get_machine_pool(call: Call, request: MachinePoolRequest) -> MachinePool:
    """Shows what a pool may rent, what keeps it from growing, and what it has cost this month."""
    return _seen(call, await _find(call, request.pool))


async def create_machine_pool(call: Call, request: CreateMachinePoolRequest) -> MachinePool:
    """Defines a new pool of rented machines."""
    operation_id = new_id(call.doors.clock)
    earlier = await claim_apart(call, request, operation_id)
    if earlier is not None and earlier.response is not None:
        return MachinePool.model_validate(earlier.response)
    try:
        # The same again changes nothing: the provisioner refuses a pool that exists only where it is another.
        answer = await _set(call, request.name, request, is_new=True)
    except (Rejected, Conflict):
        await forget(call, earlier.operation_id if earlier else operation_id)
        raise
    await _until_known(call, answer.name)
    async with call.transaction() as unit:
        return await remember(call, unit.connection, answer)


async def update_machine_pool(call: Call, request: UpdateMachinePoolRequest) -> MachinePool:
    """Says what a pool may rent from now on, in place of what was said before; what runs goes on."""
    call.note(before=_render(await _find(call, request.pool)))
    return await _set(call, request.pool, request, is_new=False)


async def delete_machine_pool(call: Call, request: MachinePoolRequest) -> MachinePool:
    """Has a pool's machines go as their runs end, and then the pool."""
    before = await _find(call, request.pool)
    call.note(before=_render(before))
    await call.record()
    question = messages.CloseMachinePool(pool=before.pool)
    found = await call.doors.bus.ask(question, SITE, call.doors.timeouts.query_s)
    return _render(next(iter(found.pools), before.model_copy(update={"is_closing": True})))


async def list_machine_kinds(call: Call, request: Empty) -> MachineKinds:
    """Lists the kinds of machines that can be rented, where and for what, and what is held back now."""
    found = await call.doors.bus.ask(messages.GetMachineKinds(), SITE, call.doors.timeouts.query_s)
    return MachineKinds(items=[_offer(one) for one in found.offers])


async def terminate_instance(call: Call, request: InstanceRequest) -> InstanceRecord:
    """Ends a machine as it is, whatever runs there; its runs go on elsewhere, uncharged."""
    name = parse_uuid(request.instance)
    if name is None:
        raise NotFound(f"instance {request.instance}", hint="`muster instance list` shows them")
    await call.record()
    question = messages.EndInstance(instance_id=InstanceId(name), reason="an operator ended it")
    ended = await call.doors.bus.ask(question, SITE, call.doors.timeouts.query_s)
    async with call.doors.database.system() as connection:
        row = await cluster_store.load_instance(connection, name)
    if row is None:
        raise NotFound(
            f"instance {request.instance}", hint="it is so new that it is not listed yet; ask again"
        )
    return render_instance(row, call.doors.clock.now()).model_copy(update={"state": ended.state})


async def list_machine_costs(call: Call, request: ListCostsRequest) -> MachineCosts:
    """Lists what rented machines have cost, by day, pool, kind and purchase."""
    since, until = period_of(call, request.since, request.until)
    question = messages.GetSpending(since=since, until=until)
    found = await call.doors.bus.ask(question, SITE, call.doors.timeouts.query_s)
    rows = [row.model_dump(mode="json", exclude={"slot_hours"}) for row in found.rows]
    return MachineCosts(items=[MachineCost.model_validate(row) for row in rows])


def period_of(call: Call, since: str | None, until: str | None) -> tuple[date, date]:
    """The first and the last day that are asked for. Raises Rejected (`invalid_request`)."""
    last = _day(until, "until") or call.doors.clock.now().astimezone(UTC).date()
    return _day(since, "since") or last - timedelta(days=DEFAULT_DAYS - 1), last


def _day(given: str | None, place: str) -> date | None:
    try:
        return None if given is None else date.fromisoformat(given)
    except ValueError:
        raise Rejected("invalid_request", f"{given} is no day", place, "give one like 2026-11-22") from None


async def _set(call: Call, name: str, machines: PoolMachines, is_new: bool) -> MachinePool:
    given = machines.model_dump(mode="json", exclude={"name", "pool"})
    call.note(after=given, entity=f"pool/{name}")
    await call.record()
    definition = messages.PoolDefinition.model_validate(given)
    question = messages.SetMachinePool(pool=PoolName(name), definition=definition, is_new=is_new)
    found = await call.doors.bus.ask(question, SITE, call.doors.timeouts.query_s)
    return _render(found.pools[0])


async def _until_known(call: Call, pool: str) -> None:
    """Returns once the scheduler has heard of the pool, so that who was answered can submit into it; where it is away, it hears of it later."""
    with suppress(MusterError):
        for _ in range(_LOOKS):
            if pool in {one.pool for one in (await load_cluster(call)).pools}:
                return
            await asyncio.sleep(_LOOKS_EVERY_S)


async def _load(call: Call, pool: PoolName | None = None) -> tuple[messages.MachinePool, ...]:
    question = messages.GetMachinePools(pool=pool)
    return (await call.doors.bus.ask(question, SITE, call.doors.timeouts.query_s)).pools


async def _find(call: Call, pool: str) -> messages.MachinePool:
    found = await _load(call, PoolName(pool))
    if not found:
        raise NotFound(f"pool {pool}", hint="`muster pool list` shows them")
    return found[0]


def _seen(call: Call, one: messages.MachinePool) -> MachinePool:
    """What the site spends is for who keeps it."""
    shown = _render(one)
    if call.caller.keeps_site:
        return shown
    return shown.model_copy(update={"spent": None, "budget_per_month": None})


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
