"""Rented machines: pools, available machine types, and costs.

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
    """Rented machines: pools, available machine types, and costs."""

    def pools(self) -> Sequence[models.MachinePool]:
        """List the machine pools by name."""
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
        batching_window_s: float = 0.0,
        idle_timeout_s: float = 300.0,
        join_timeout_s: float = 1200.0,
        budget_per_month: float | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> models.MachinePool:
        """Create a machine pool.

        Args:
            maximum: Maximum number of machines.
            zones: Zones to rent in; by default all zones of the kinds.
            order: One of cheapest or given.
            reserve_slots: Number of idle slots to keep in reserve.
            spot_share: Maximum share of the slots on spot machines, 0 to 1.
            on_demand_slots: Minimum number of slots on on-demand machines.
            falls_back: True rents on-demand machines if spot machines are not available.
            moves_runs: True moves runs of a pool with spot machines to cheaper machines if the savings outweigh the
                cost of the move.
            batching_window_s: Maximum time to delay renting while demand still grows, so that larger machines can
                cover it.
            budget_per_month: Budget per month. No machine is rented that could exceed it within the hour.
            labels: Labels of its workers.
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
                batching_window_s=batching_window_s,
                idle_timeout_s=idle_timeout_s,
                join_timeout_s=join_timeout_s,
                budget_per_month=budget_per_month,
                labels=labels,
            ),
        )

    def pool(self, pool: Reference) -> models.MachinePool:
        """Show the definition of a machine pool, why it cannot grow, and its cost this month."""
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
        batching_window_s: float = 0.0,
        idle_timeout_s: float = 300.0,
        join_timeout_s: float = 1200.0,
        budget_per_month: float | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> models.MachinePool:
        """Replace the definition of a machine pool. Runs are not affected.

        Args:
            maximum: Maximum number of machines.
            zones: Zones to rent in; by default all zones of the kinds.
            order: One of cheapest or given.
            reserve_slots: Number of idle slots to keep in reserve.
            spot_share: Maximum share of the slots on spot machines, 0 to 1.
            on_demand_slots: Minimum number of slots on on-demand machines.
            falls_back: True rents on-demand machines if spot machines are not available.
            moves_runs: True moves runs of a pool with spot machines to cheaper machines if the savings outweigh the
                cost of the move.
            batching_window_s: Maximum time to delay renting while demand still grows, so that larger machines can
                cover it.
            budget_per_month: Budget per month. No machine is rented that could exceed it within the hour.
            labels: Labels of its workers.
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
                batching_window_s=batching_window_s,
                idle_timeout_s=idle_timeout_s,
                join_timeout_s=join_timeout_s,
                budget_per_month=budget_per_month,
                labels=labels,
            ),
        )

    def delete_pool(self, pool: Reference) -> models.MachinePool:
        """Delete a machine pool: its machines are terminated as their runs end, then the pool disappears."""
        return self._transport.delete(models.MachinePool, f"/v1/machine-pools/{segment(pool)}")

    def kinds(self) -> Sequence[models.MachineOffer]:
        """List the machine types that can be rented, with zones, prices and current availability."""
        return self._transport.get(models.MachineKinds, "/v1/machine-kinds").items

    def terminate(self, instance: Reference) -> models.InstanceRecord:
        """Terminate a machine immediately. Its trials resume elsewhere; no restart is charged."""
        return self._transport.post(models.InstanceRecord, f"/v1/instances/{segment(instance)}/terminate")

    def costs(self, since: date | None = None, until: date | None = None) -> Sequence[models.MachineCost]:
        """List the cost of rented machines by day, pool, kind and purchase."""
        return self._transport.get(
            models.MachineCosts, "/v1/machine-costs", query_params(since=since, until=until)
        ).items

    def cost_shares(
        self, by: Sequence[str] = (), since: date | None = None, until: date | None = None
    ) -> models.CostShares:
        """List the cost of rented machines by slot usage. Site operators see all tenants and idle slots, other callers their tenant.

        Args:
            by: Keys to group by; by default tenant. Any of day, pool, tenant or experiment.
        """
        return self._transport.get(
            models.CostShares, "/v1/cost-shares", query_params(by=by, since=since, until=until)
        )

    def events(
        self, pool: Reference | None = None, *, after: str | None = None, kinds: Sequence[str] = ()
    ) -> Iterator[models.MachineEvent]:
        """Stream every change of rented machines and their pools. Resume with the last event's id.

        Args:
            kinds: Kinds to stream; by default instance and provider. Kinds added later must be named. Any of instance
                or provider.
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
