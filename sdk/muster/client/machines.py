"""Rented machines: pools of them, what can be rented, and what it has cost."""

from collections.abc import Sequence
from datetime import date

from pydantic import JsonValue

from muster.client import models
from muster.client.awaited import AsyncNoun, awaited
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
        given = {"since": since, "until": until}
        query: Query = {name: day.isoformat() for name, day in given.items() if day is not None}
        return self._transport.get(models.MachineCosts, "/v1/machine-costs", query).items


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


def _path(pool: Reference) -> str:
    return f"/v1/machine-pools/{segment(pool)}"
