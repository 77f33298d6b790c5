"""The cluster: workers, pools, instances, limits, reservations, usage and the queue.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.cluster` has the other methods.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.handwritten.cluster import HandwrittenCluster
from muster.client.http.fields import json_body, query_params, text
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class Cluster(HandwrittenCluster):
    """The cluster: workers, pools, instances, limits, reservations, usage and the queue."""

    def retention(self) -> models.RetentionRules:
        """Get the retention rules for metrics and logs of the caller's tenant and its workspaces."""
        return self._transport.get(models.RetentionRules, "/v1/retention")

    def set_retention(
        self,
        workspace: Reference | None = None,
        *,
        metric_detail_days: int | None = None,
        metric_retention_days: int | None = None,
        log_retention_days: int | None = None,
    ) -> models.RetentionRule:
        """Set how long the caller's tenant or a workspace keeps metrics and logs. Older data is deleted within an hour.

        Args:
            workspace: None: the whole tenant.
        """
        return self._transport.put(
            models.RetentionRule,
            "/v1/retention",
            json_body(
                workspace=text(workspace),
                metric_detail_days=metric_detail_days,
                metric_retention_days=metric_retention_days,
                log_retention_days=log_retention_days,
            ),
        )

    def set_storage_limit(
        self, maximum_bytes: int | None = None, *, tenant: Reference | None = None
    ) -> models.StorageLimit:
        """Set how many bytes a tenant may store. Data that is already stored stays.

        Args:
            tenant: Name of the tenant; the caller's own by default.
        """
        return self._transport.put(
            models.StorageLimit,
            "/v1/storage/limit",
            json_body(maximum_bytes=maximum_bytes, tenant=text(tenant)),
        )

    def workers(
        self, pool: Reference | None = None, *, filter: str = "", sort: str = ""
    ) -> Items[models.Worker]:
        """List the workers, by id by default.

        Args:
            filter: An expression over `id`, `pool`, `state`, `slots`, `used_slots`, `slot_kind`, `isolated_user`,
                `machine`, `isolation`, `last_heartbeat_at`, `labels.WORD`, `trouble`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.WorkerPage,
            "/v1/workers",
            query_params(pool=text(pool), filter=filter, sort=sort),
        )

    def worker(self, worker: Reference) -> models.Worker:
        """Show one worker."""
        return self._transport.get(models.Worker, f"/v1/workers/{segment(worker)}")

    def drain(self, worker: Reference, reclaim: bool = False) -> models.Worker:
        """Drain a worker: it gets no new runs. Its current runs finish, or with `reclaim` save and move to other workers.

        Args:
            reclaim: True asks its runs to save and move; false lets them finish.
        """
        return self._transport.post(
            models.Worker, f"/v1/workers/{segment(worker)}/drain", json_body(reclaim=reclaim)
        )

    def undrain(self, worker: Reference) -> models.Worker:
        """Undrain a worker: it gets new runs again."""
        return self._transport.post(models.Worker, f"/v1/workers/{segment(worker)}/undrain")

    def drain_labelled(
        self, labels: Mapping[str, str], pool: Reference | None = None, reclaim: bool = False
    ) -> Sequence[models.Worker]:
        """Drain all workers with these labels. Workers that join later with the same labels are not drained.

        Args:
            reclaim: True asks their runs to save and move; false lets them finish.
        """
        return self._transport.post(
            models.WorkerPage, "/v1/workers/drain", json_body(labels=labels, pool=text(pool), reclaim=reclaim)
        ).items

    def undrain_labelled(
        self, labels: Mapping[str, str], pool: Reference | None = None
    ) -> Sequence[models.Worker]:
        """Undrain all workers with these labels."""
        return self._transport.post(
            models.WorkerPage, "/v1/workers/undrain", json_body(labels=labels, pool=text(pool))
        ).items

    def disable_slot(self, worker: Reference, slot: int) -> models.Worker:
        """Disable one slot: it gets no new runs. The current run finishes."""
        return self._transport.post(
            models.Worker, f"/v1/workers/{segment(worker)}/slots/disable", json_body(slot=slot)
        )

    def enable_slot(self, worker: Reference, slot: int) -> models.Worker:
        """Enable a slot: it gets new runs again."""
        return self._transport.post(
            models.Worker, f"/v1/workers/{segment(worker)}/slots/enable", json_body(slot=slot)
        )

    def instances(self, *, filter: str = "", sort: str = "") -> Items[models.InstanceRecord]:
        """List the machines that the provisioner rented or started, newest first by default.

        Args:
            filter: An expression over `pool`, `worker`, `driver`, `kind`, `zone`, `purchase`, `state`, `slots`,
                `reason`, `price_per_hour`, `since`, `launched_at`, `ended_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport, models.InstancePage, "/v1/instances", query_params(filter=filter, sort=sort)
        )

    def queue(
        self, pool: Reference | None = None, *, starts: bool = False, filter: str = "", sort: str = ""
    ) -> Items[models.QueueEntry]:
        """List the waiting and running trials of the caller's tenant, in queue order by default.

        Args:
            starts: True estimates the start of the first 50 waiting trials of the page.
            filter: An expression over `experiment`, `experiment_number`, `trial`, `trial_number`, `pool`, `priority`,
                `slots`, `min_slots`, `max_slots`, `state`, `code`, `since`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.QueuePage,
            "/v1/queue",
            query_params(pool=text(pool), starts=starts, filter=filter, sort=sort),
        )

    def pools(self, *, filter: str = "", sort: str = "") -> Items[models.Pool]:
        """List the pools, by name unless `sort` is set.

        Args:
            filter: An expression over `name`, `slot_kind`, `workers`, `slots`, `used_slots`, `waiting_slots`,
                `max_slots`, `preemption`, `exclusive`, `rules.order`, `rules.elastic`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(self._transport, models.PoolPage, "/v1/pools", query_params(filter=filter, sort=sort))

    def pool(self, pool: Reference) -> models.Pool:
        """Get one pool and its scheduling rules."""
        return self._transport.get(models.Pool, f"/v1/pools/{segment(pool)}")

    def edit_pool(
        self,
        pool: Reference,
        *,
        order: str | None = None,
        preemption: bool | None = None,
        elastic: bool | None = None,
        default_priority: int | None = None,
        ageing_s: float | None = None,
        no_ageing: bool = False,
        half_life_s: float | None = None,
        min_run_s: float | None = None,
        max_preemptions: int | None = None,
        topology: Sequence[str] = (),
        no_topology: bool = False,
        placement: str | None = None,
        no_max_preemptions: bool = False,
        quantum_s: float | None = None,
        no_quantum: bool = False,
        defragment: bool | None = None,
        trusted: bool | None = None,
        tenant: Reference | None = None,
    ) -> models.Pool:
        """Change a pool's rules for queue order, preemption and placement. They apply at once to waiting and running work.

        Args:
            order: One of fifo, priority or fair_share.
            no_ageing: True removes `ageing_s`.
            no_topology: True removes `topology`.
            placement: One of best_fit or spread.
            no_max_preemptions: True removes `max_preemptions`.
            no_quantum: True removes `quantum_s`.
            trusted: True: the pool serves one tenant only, and its workers need no sandbox.
            tenant: Name of the only tenant of a trusted pool. Default: the tenant `default`, or the one set before.
        """
        return self._transport.patch(
            models.Pool,
            f"/v1/pools/{segment(pool)}",
            json_body(
                order=order,
                preemption=preemption,
                elastic=elastic,
                default_priority=default_priority,
                ageing_s=ageing_s,
                no_ageing=no_ageing or None,
                half_life_s=half_life_s,
                min_run_s=min_run_s,
                max_preemptions=max_preemptions,
                topology=topology or None,
                no_topology=no_topology or None,
                placement=placement,
                no_max_preemptions=no_max_preemptions or None,
                quantum_s=quantum_s,
                no_quantum=no_quantum or None,
                defragment=defragment,
                trusted=trusted,
                tenant=text(tenant),
            ),
        )

    def limits(
        self, pool: Reference | None = None, *, filter: str = "", sort: str = ""
    ) -> Items[models.Limit]:
        """List the slot limits of the caller's tenant and its workspaces, by pool unless `sort` is set. Operators see all tenants.

        Args:
            filter: An expression over `pool`, `tenant`, `workspace`, `guaranteed`, `maximum`, `weight`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.LimitPage,
            "/v1/limits",
            query_params(pool=text(pool), filter=filter, sort=sort),
        )

    def set_limit(
        self,
        pool: Reference,
        *,
        tenant: Reference | None = None,
        workspace: Reference | None = None,
        guaranteed: int = 0,
        maximum: int | None = None,
        weight: float = 1.0,
    ) -> models.Limit:
        """Set the slot limit of a tenant or a workspace in a pool.

        Args:
            tenant: Name of the tenant. Default: the caller's tenant.
            workspace: None: the limit applies to the whole tenant.
        """
        return self._transport.put(
            models.Limit,
            "/v1/limits",
            json_body(
                pool=text(pool),
                tenant=text(tenant),
                workspace=text(workspace),
                guaranteed=guaranteed,
                maximum=maximum,
                weight=weight,
            ),
        )

    def set_workspace_limit(
        self,
        pool: Reference,
        workspace: Reference,
        *,
        guaranteed: int = 0,
        maximum: int | None = None,
        weight: float = 1.0,
    ) -> models.Limit:
        """Set the slot limit of a workspace of the caller's tenant in a pool, within the tenant's own limit.

        Args:
            guaranteed: Guaranteed slots. The guarantees of all workspaces together cannot exceed the tenant's
                guarantee.
            maximum: None: up to the tenant's maximum.
        """
        return self._transport.put(
            models.Limit,
            "/v1/limits/workspace",
            json_body(
                pool=text(pool),
                workspace=text(workspace),
                guaranteed=guaranteed,
                maximum=maximum,
                weight=weight,
            ),
        )

    def create_reservation(
        self,
        pool: Reference,
        slots: int,
        begins_at: datetime,
        ends_at: datetime,
        *,
        tenant: Reference | None = None,
        workspace: Reference | None = None,
    ) -> models.Reservation:
        """Reserve slots of a pool for a time window. During the window, only the holder can use them.

        Args:
            tenant: Name of the tenant. Default: the caller's tenant.
            workspace: None: the holder is the whole tenant.
        """
        return self._transport.post(
            models.Reservation,
            "/v1/reservations",
            json_body(
                pool=text(pool),
                slots=slots,
                begins_at=begins_at,
                ends_at=ends_at,
                tenant=text(tenant),
                workspace=text(workspace),
            ),
        )

    def reservations(self, *, filter: str = "", sort: str = "") -> Items[models.Reservation]:
        """List the current and future reservations of the caller's tenant, by start time unless `sort` is set. Operators see all tenants.

        Args:
            filter: An expression over `pool`, `tenant`, `workspace`, `slots`, `begins_at`, `ends_at`, `held_slots`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.ReservationPage,
            "/v1/reservations",
            query_params(filter=filter, sort=sort),
        )

    def delete_reservation(self, reservation: Reference) -> models.Reservation:
        """Cancel a reservation. Runs of its holder continue."""
        return self._transport.delete(models.Reservation, f"/v1/reservations/{segment(reservation)}")

    def join_token(
        self, pool: Reference = "default", worker: str | None = None, *, ttl_s: int = 3600
    ) -> models.JoinToken:
        """Create a one-time token that lets one machine join a pool."""
        return self._transport.post(
            models.JoinToken, "/v1/join-tokens", json_body(pool=text(pool), worker=worker, ttl_s=ttl_s)
        )


class AsyncCluster(AsyncAPIResource[Cluster]):
    """`Cluster`, awaited."""

    usage = awaited(Cluster.usage)
    usage_csv = awaited(Cluster.usage_csv)
    retention = awaited(Cluster.retention)
    set_retention = awaited(Cluster.set_retention)
    set_storage_limit = awaited(Cluster.set_storage_limit)
    workers = listed(Cluster.workers)
    worker = awaited(Cluster.worker)
    drain = awaited(Cluster.drain)
    undrain = awaited(Cluster.undrain)
    drain_labelled = awaited(Cluster.drain_labelled)
    undrain_labelled = awaited(Cluster.undrain_labelled)
    disable_slot = awaited(Cluster.disable_slot)
    enable_slot = awaited(Cluster.enable_slot)
    instances = listed(Cluster.instances)
    queue = listed(Cluster.queue)
    pools = listed(Cluster.pools)
    pool = awaited(Cluster.pool)
    edit_pool = awaited(Cluster.edit_pool)
    limits = listed(Cluster.limits)
    set_limit = awaited(Cluster.set_limit)
    set_workspace_limit = awaited(Cluster.set_workspace_limit)
    create_reservation = awaited(Cluster.create_reservation)
    reservations = listed(Cluster.reservations)
    delete_reservation = awaited(Cluster.delete_reservation)
    join_token = awaited(Cluster.join_token)
