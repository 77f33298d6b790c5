"""Answer administrators' queries: show, define and close pools, terminate machines, and report spending.

Any replica answers; the leader applies stored changes in its next pass, or at once if it answers itself.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from services.provisioner import store
from services.provisioner.core.catalogue import Offer
from services.provisioner.core.instances.instance import SERVING, InstanceState, InstanceTrigger, moved
from services.provisioner.core.instances.refusals import LaunchBackoff
from services.provisioner.events import changed, drain, provided
from services.provisioner.pools.current_pools import Pools, month_of
from services.provisioner.store import PoolRecord
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.database.engine import Database
from shared.errors import NotFound, Rejected
from shared.ids import SITE, PoolName
from shared.messages.machine_pools import (
    CloseMachinePool,
    EndedInstance,
    EndInstance,
    GetMachineKinds,
    GetMachinePools,
    GetSpending,
    MachineKinds,
    MachinePool,
    MachinePools,
    OfferView,
    SetMachinePool,
    Spendings,
)

MOST_DAYS = 92


@dataclass(frozen=True, slots=True)
class PoolQueries:
    """One method for each query."""

    database: Database
    units: Units
    pools: Pools
    clock: Clock
    wake: Callable[[], None]

    def answers(self) -> dict[Question, Answer]:
        return {
            GetMachinePools: self.list,
            SetMachinePool: self.set,
            CloseMachinePool: self.close,
            GetMachineKinds: self.kinds,
            GetSpending: self.spending,
            EndInstance: self.end,
        }

    async def list(self, ask: RequestContext, query: GetMachinePools) -> MachinePools:
        now = self.clock.now()
        async with self.database.system() as connection:
            rows = await store.load_providers(connection)
            holds = await store.load_backoffs(connection, now)
            spent = await store.load_spent(connection, month_of(now), now)
        listed = [row for row in rows if query.pool in (None, row.pool) and self._is_there(row)]
        return MachinePools(
            pools=tuple(self._view(row, holds, spent.get(row.pool, 0.0), now) for row in listed)
        )

    async def set(self, ask: RequestContext, query: SetMachinePool) -> MachinePools:
        """Define a pool. The definition is resolved first, so that an invalid one is never stored."""
        spec = self.pools.resolve(query.pool, query.definition)
        if self.pools.lists(query.pool):
            raise _of_settings(query.pool)
        async with self.units.system() as unit:
            rows = await store.load_providers(unit.connection)
            known = {row.pool: row for row in rows if self._is_there(row)}
            is_same = query.pool in known and known[query.pool].definition == query.definition
            if query.is_new and query.pool in known and not is_same:
                hint = f"change it with `muster pool update {query.pool}`, or choose another name"
                raise Rejected("pool_exists", f"pool {query.pool} already exists", "name", hint)
            if not query.is_new and query.pool not in known:
                raise NotFound(f"pool {query.pool}")
            saved = await store.save_pool(unit.connection, spec, query.definition)
            # Published at once by any replica, because the user who defined a pool submits to it next.
            unit.emit(provided(saved), tenant=SITE)
        self.wake()
        return await self.list(ask, GetMachinePools(pool=query.pool))

    async def close(self, ask: RequestContext, query: CloseMachinePool) -> MachinePools:
        if self.pools.lists(query.pool):
            raise _of_settings(query.pool)
        async with self.units.system() as unit:
            closed = await store.close_pool(unit.connection, query.pool)
            if closed is None:
                raise NotFound(f"pool {query.pool}")
            unit.emit(provided(closed), tenant=SITE)
        self.wake()
        return await self.list(ask, GetMachinePools(pool=query.pool))

    async def kinds(self, ask: RequestContext, query: GetMachineKinds) -> MachineKinds:
        now = self.clock.now()
        async with self.database.system() as connection:
            holds = await store.load_backoffs(connection, now)
        return MachineKinds(offers=_offers(self.pools.catalogue.now().offers, holds, now))

    async def spending(self, ask: RequestContext, query: GetSpending) -> Spendings:
        if query.until < query.since:
            hint = "set `since` to a day no later than `until`"
            raise Rejected(
                "bad_period", f"until ({query.until}) is before since ({query.since})", "until", hint
            )
        if query.until - query.since >= timedelta(days=MOST_DAYS):
            hint = "split the period into several queries"
            raise Rejected("bad_period", f"the period is longer than {MOST_DAYS} days", "since", hint)
        since = datetime.combine(query.since, time(), UTC)
        until = min(datetime.combine(query.until + timedelta(days=1), time(), UTC), self.clock.now())
        async with self.database.system() as connection:
            return Spendings(rows=tuple(await store.load_spending(connection, since, until)))

    async def end(self, ask: RequestContext, query: EndInstance) -> EndedInstance:
        """Mark the instance as failed; the leader terminates the machine, and the scheduler sees its worker leave."""
        async with self.units.system() as unit:
            found = await store.lock_live(unit.connection, [query.instance_id])
            if not found:
                raise NotFound(f"instance {query.instance_id}", hint="it may have ended already")
            (before,) = found
            after = before
            if before.state is InstanceState.REQUESTED:
                after = moved(before, InstanceTrigger.RELEASE, unit.now, query.reason)
            elif before.state in SERVING:
                after = moved(before, InstanceTrigger.FAIL, unit.now, query.reason)
            if after != before:
                await store.save_change(unit.connection, before, after)
                unit.emit(changed(after), tenant=SITE)
                if before.state is InstanceState.READY:
                    # Drain the worker, so that runs that end there do not restart on the machine.
                    unit.emit(drain(after), tenant=SITE)
        self.wake()
        return EndedInstance(worker=after.worker, pool=after.pool, state=after.state.value)

    def _is_there(self, row: PoolRecord) -> bool:
        """Whether the pool exists. The row of a closed and empty pool stays, so that its versions keep rising."""
        is_kept = self.pools.lists(row.pool) or (row.definition is not None and not row.is_closing)
        return is_kept or row.instances > 0

    def _view(
        self, row: PoolRecord, holds: Iterable[LaunchBackoff], spent: float, now: datetime
    ) -> MachinePool:
        spec, problem = self.pools.spec_of(row, ())
        return MachinePool(
            pool=row.pool,
            definition=row.definition,
            is_closing=row.is_closing,
            minimum=row.minimum if spec is None else spec.minimum,
            maximum=row.maximum if spec is None else spec.maximum,
            instances=row.instances,
            fault="; ".join(filter(None, (problem or row.fault, row.demand.unaffordable_message))) or None,
            spent=spent,
            offers=_offers(spec.offers, holds, now) if spec else (),
        )


def _of_settings(pool: PoolName) -> Rejected:
    hint = "change MUSTER_PROVISIONER__… and restart the provisioner, or choose another name"
    return Rejected(
        "pool_of_settings", f"the pool {pool} is defined by the provisioner's settings", "name", hint
    )


def _offers(offers: Iterable[Offer], holds: Iterable[LaunchBackoff], now: datetime) -> tuple[OfferView, ...]:
    on = [hold for hold in holds if hold.is_on(now)]
    return tuple(
        _offer(offer, next((hold for hold in on if hold.scope.covers(offer)), None)) for offer in offers
    )


def _offer(offer: Offer, hold: LaunchBackoff | None) -> OfferView:
    kind = offer.kind
    return OfferView(
        kind=kind.name,
        provider=kind.provider,
        zone=offer.zone,
        purchase=offer.purchase,
        slots=kind.slots,
        slot_kind=kind.slot_kind,
        gpu=kind.gpu,
        memory_gib=kind.memory_gib,
        price_per_hour=offer.price_per_hour,
        priced_on=offer.priced_on,
        held=f"{hold.cause.replace('_', ' ')}: {hold.reason}" if hold else None,
        held_until=hold.until if hold else None,
    )
