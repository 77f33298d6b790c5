"""Rented machines: pools of them, what can be rented, and what it has cost."""

from collections.abc import Iterator, Sequence
from datetime import date

from pydantic import JsonValue

from muster.client import models
from muster.client.awaited import AsyncNoun, awaited, streamed
from muster.client.paging import follow
from muster.client.transport import Query, Reference, Transport, segment


class Machines:
    """Pools of rented machines, and the machines in them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def pools(self) -> Sequence[models.MachinePool]:
        """Return the pools of rented machines, by name."""
        return self._transport.get(models.MachinePools, "/v1/machine-pools").items

    def pool(self, pool: Reference) -> models.MachinePool:
        """Return what a pool may rent, and what keeps it from growing."""
        return self._transport.get(models.MachinePool, _path(pool))

    def create_pool(self, /, name: str, **machines: JsonValue) -> models.MachinePool:
        """Define a new pool: the fields of `POST /v1/machine-pools`, of which `kinds` and `maximum` must be given."""
        return self._transport.post(models.MachinePool, "/v1/machine-pools", {"name": name, **machines})

    def update_pool(self, /, pool: Reference, **machines: JsonValue) -> models.MachinePool:
        """Say what a pool may rent from now on, in place of what was said before; what runs goes on."""
        return self._transport.put(models.MachinePool, _path(pool), machines)

    def delete_pool(self, pool: Reference) -> models.MachinePool:
        """Have a pool's machines go as their runs end, and then the pool."""
        return self._transport.delete(models.MachinePool, _path(pool))

    def kinds(self) -> Sequence[models.MachineOffer]:
        """Return what can be rented, where and for what."""
        return self._transport.get(models.MachineKinds, "/v1/machine-kinds").items

    def terminate(self, instance: Reference) -> models.InstanceRecord:
        """End a machine as it is; its runs go on elsewhere, uncharged."""
        path = f"/v1/instances/{segment(instance)}/terminate"
        return self._transport.post(models.InstanceRecord, path)

    def costs(self, since: date | None = None, until: date | None = None) -> Sequence[models.MachineCost]:
        """Return what machines have cost, by day, pool, kind and purchase; by default of the last 30 days."""
        return self._transport.get(models.MachineCosts, "/v1/machine-costs", _days(since, until)).items

    def events(
        self, pool: Reference | None = None, *, kinds: Sequence[str] = (), after: str | None = None
    ) -> Iterator[models.MachineEvent]:
        """Yield every change of rented machines and their pools from `after` (an event's id; default: now) on, in order; it does not end by itself."""
        query = {"pool": None if pool is None else str(pool), "kind": kinds}
        return follow(self._transport, models.MachineEvent, "/v1/machine-events", query, after=after)

    def cost_shares(
        self, by: Sequence[str] = (), since: date | None = None, until: date | None = None
    ) -> models.CostShares:
        """Return what machines have cost by who held their slots: added up by `day`, `pool`, `tenant` or `experiment`.

        Who keeps the site sees all tenants, and what stood idle; by `experiment`, and for everybody else, it is the own tenant.
        """
        query: Query = {"by": list(by), **_days(since, until)}
        return self._transport.get(models.CostShares, "/v1/cost-shares", query)


class AsyncMachines(AsyncNoun[Machines]):
    """`Machines`, awaited."""

    pools = awaited(Machines.pools)
    pool = awaited(Machines.pool)
    create_pool = awaited(Machines.create_pool)
    update_pool = awaited(Machines.update_pool)
    delete_pool = awaited(Machines.delete_pool)
    kinds = awaited(Machines.kinds)
    terminate = awaited(Machines.terminate)
    costs = awaited(Machines.costs)
    cost_shares = awaited(Machines.cost_shares)
    events = streamed(Machines.events)


def _days(since: date | None, until: date | None) -> Query:
    given = {"since": since, "until": until}
    return {name: day.isoformat() for name, day in given.items() if day is not None}


def _path(pool: Reference) -> str:
    return f"/v1/machine-pools/{segment(pool)}"
