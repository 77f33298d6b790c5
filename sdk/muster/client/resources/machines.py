"""Rented machines: pools of them, what can be rented, and what it has cost.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, streamed
from muster.client.http.fields import json_body, query_params, text
from muster.client.http.paging import follow
from muster.client.http.transport import Reference, segment


class Machines(APIResource):
    """Rented machines: pools of them, what can be rented, and what it has cost."""

    def pools(self) -> Sequence[models.MachinePool]:
        """Lists the pools of rented machines by name."""
        return self._transport.get(models.MachinePools, "/v1/machine-pools").items

    def create_pool(
        self,
        name: str,
        kinds: Sequence[str],
        maximum: int,
        *,
        zones: Sequence[str] = (),
        order: str = models.OfferOrder.CHEAPEST,
        minimum: int = 0,
        maximum_slots: int | None = None,
        reserve_slots: int = 0,
        spot_share: float = 0.0,
        on_demand_slots: int = 0,
        falls_back: bool = True,
        moves_runs: bool = True,
        patience_s: float = 0.0,
        idle_timeout_s: float = 300.0,
        join_timeout_s: float = 1200.0,
        budget_per_month: float | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> models.MachinePool:
        """Defines a new pool of rented machines.

        Args:
            maximum: Machines at most.
            zones: None: all of the kinds' zones.
            order: One of cheapest or given.
            reserve_slots: Kept idle for what may come.
            spot_share: At most this share of the slots is on spot machines.
            on_demand_slots: At least so many slots are not on spot machines.
            falls_back: Other machines are rented where spot machines are not to be had.
            moves_runs: In a pool with spot machines, runs save and go on elsewhere once that is cheaper for long
                enough to pay.
            patience_s: While more and more slots are asked for, renting waits so long at most, so that larger
                machines cover them.
            budget_per_month: No machine is rented that could pass it within the hour.
            labels: What its machines are labelled with.
        """
        return self._transport.post(
            models.MachinePool,
            "/v1/machine-pools",
            json_body(
                name=name,
                kinds=kinds,
                maximum=maximum,
                zones=zones,
                order=order,
                minimum=minimum,
                maximum_slots=maximum_slots,
                reserve_slots=reserve_slots,
                spot_share=spot_share,
                on_demand_slots=on_demand_slots,
                falls_back=falls_back,
                moves_runs=moves_runs,
                patience_s=patience_s,
                idle_timeout_s=idle_timeout_s,
                join_timeout_s=join_timeout_s,
                budget_per_month=budget_per_month,
                labels=labels,
            ),
        )

    def pool(self, pool: Reference) -> models.MachinePool:
        """Shows what a pool may rent, what keeps it from growing, and what it has cost this month."""
        return self._transport.get(models.MachinePool, f"/v1/machine-pools/{segment(pool)}")

    def update_pool(
        self,
        pool: Reference,
        kinds: Sequence[str],
        maximum: int,
        *,
        zones: Sequence[str] = (),
        order: str = models.OfferOrder.CHEAPEST,
        minimum: int = 0,
        maximum_slots: int | None = None,
        reserve_slots: int = 0,
        spot_share: float = 0.0,
        on_demand_slots: int = 0,
        falls_back: bool = True,
        moves_runs: bool = True,
        patience_s: float = 0.0,
        idle_timeout_s: float = 300.0,
        join_timeout_s: float = 1200.0,
        budget_per_month: float | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> models.MachinePool:
        """Says what a pool may rent from now on, in place of what was said before; what runs goes on.

        Args:
            maximum: Machines at most.
            zones: None: all of the kinds' zones.
            order: One of cheapest or given.
            reserve_slots: Kept idle for what may come.
            spot_share: At most this share of the slots is on spot machines.
            on_demand_slots: At least so many slots are not on spot machines.
            falls_back: Other machines are rented where spot machines are not to be had.
            moves_runs: In a pool with spot machines, runs save and go on elsewhere once that is cheaper for long
                enough to pay.
            patience_s: While more and more slots are asked for, renting waits so long at most, so that larger
                machines cover them.
            budget_per_month: No machine is rented that could pass it within the hour.
            labels: What its machines are labelled with.
        """
        return self._transport.put(
            models.MachinePool,
            f"/v1/machine-pools/{segment(pool)}",
            json_body(
                kinds=kinds,
                maximum=maximum,
                zones=zones,
                order=order,
                minimum=minimum,
                maximum_slots=maximum_slots,
                reserve_slots=reserve_slots,
                spot_share=spot_share,
                on_demand_slots=on_demand_slots,
                falls_back=falls_back,
                moves_runs=moves_runs,
                patience_s=patience_s,
                idle_timeout_s=idle_timeout_s,
                join_timeout_s=join_timeout_s,
                budget_per_month=budget_per_month,
                labels=labels,
            ),
        )

    def delete_pool(self, pool: Reference) -> models.MachinePool:
        """Has a pool's machines go as their runs end, and then the pool."""
        return self._transport.delete(models.MachinePool, f"/v1/machine-pools/{segment(pool)}")

    def kinds(self) -> Sequence[models.MachineOffer]:
        """Lists the kinds of machines that can be rented, where and for what, and what is held back now."""
        return self._transport.get(models.MachineKinds, "/v1/machine-kinds").items

    def terminate(self, instance: Reference) -> models.InstanceRecord:
        """Ends a machine as it is, whatever runs there; its runs go on elsewhere, uncharged."""
        return self._transport.post(models.InstanceRecord, f"/v1/instances/{segment(instance)}/terminate")

    def costs(self, since: date | None = None, until: date | None = None) -> Sequence[models.MachineCost]:
        """Lists what rented machines have cost, by day, pool, kind and purchase."""
        return self._transport.get(
            models.MachineCosts, "/v1/machine-costs", query_params(since=since, until=until)
        ).items

    def cost_shares(
        self, by: Sequence[str] = (), since: date | None = None, until: date | None = None
    ) -> models.CostShares:
        """Adds up what rented machines have cost by who held their slots: all tenants and what stood idle for who keeps the site, else the caller's tenant.

        Args:
            by: By default tenant. Any of day, pool, tenant or experiment.
        """
        return self._transport.get(
            models.CostShares, "/v1/cost-shares", query_params(by=by, since=since, until=until)
        )

    def events(
        self, pool: Reference | None = None, *, after: str | None = None, kinds: Sequence[str] = ()
    ) -> Iterator[models.MachineEvent]:
        """Streams every change of rented machines and their pools, resumable by the last event's id.

        Args:
            kinds: None: instance and provider. A kind that is added is told to who names it. Any of instance or
                provider.
        """
        return follow(
            self._transport,
            models.MachineEvent,
            "/v1/machine-events",
            query_params(pool=text(pool), kind=kinds),
            after,
        )


class AsyncMachines(AsyncAPIResource[Machines]):
    """`Machines`, awaited."""

    pools = awaited(Machines.pools)
    create_pool = awaited(Machines.create_pool)
    pool = awaited(Machines.pool)
    update_pool = awaited(Machines.update_pool)
    delete_pool = awaited(Machines.delete_pool)
    kinds = awaited(Machines.kinds)
    terminate = awaited(Machines.terminate)
    costs = awaited(Machines.costs)
    cost_shares = awaited(Machines.cost_shares)
    events = streamed(Machines.events)
