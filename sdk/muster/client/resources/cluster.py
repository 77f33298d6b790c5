"""Workers, pools, instances and the queue: the machines and who waits for them.

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
    """Workers, pools, instances and the queue: the machines and who waits for them."""

    def retention(self) -> models.RetentionRules:
        """Shows for how long the caller's tenant and its workspaces keep metrics and logs."""
        return self._transport.get(models.RetentionRules, "/v1/retention")

    def set_retention(
        self,
        workspace: Reference | None = None,
        *,
        metric_detail_days: int | None = None,
        metric_retention_days: int | None = None,
        log_retention_days: int | None = None,
    ) -> models.RetentionRule:
        """Says for how long the caller's tenant, or a workspace of it, keeps metrics and logs; older ones go within the hour.

        Args:
            workspace: None: the tenant as a whole.
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
        """Says how many bytes a tenant may store from now on; what is stored already stays.

        Args:
            tenant: By its name; by default the caller's own.
        """
        return self._transport.put(
            models.StorageLimit,
            "/v1/storage/limit",
            json_body(maximum_bytes=maximum_bytes, tenant=text(tenant)),
        )

    def workers(
        self, pool: Reference | None = None, *, filter: str = "", sort: str = ""
    ) -> Items[models.Worker]:
        """Lists the workers by id, or as they are sorted.

        Args:
            filter: An expression over `id`, `pool`, `state`, `slots`, `used_slots`, `slot_kind`, `isolated_user`,
                `last_heard`, `labels.WORD`, `trouble`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport,
            models.WorkerPage,
            "/v1/workers",
            query_params(pool=text(pool), filter=filter, sort=sort),
        )

    def worker(self, worker: Reference) -> models.Worker:
        """Shows one worker."""
        return self._transport.get(models.Worker, f"/v1/workers/{segment(worker)}")

    def drain(self, worker: Reference, reclaim: bool = False) -> models.Worker:
        """Gives a worker no more work; its runs end by themselves, or are asked to save and go elsewhere.

        Args:
            reclaim: True asks its runs to save and go; false waits until they have ended.
        """
        return self._transport.post(
            models.Worker, f"/v1/workers/{segment(worker)}/drain", json_body(reclaim=reclaim)
        )

    def undrain(self, worker: Reference) -> models.Worker:
        """Gives a worker work again."""
        return self._transport.post(models.Worker, f"/v1/workers/{segment(worker)}/undrain")

    def drain_labelled(
        self, labels: Mapping[str, str], pool: Reference | None = None, reclaim: bool = False
    ) -> Sequence[models.Worker]:
        """Gives all workers with these labels no more work. One that joins later, labelled so, takes work.

        Args:
            reclaim: True asks their runs to save and go; false waits until they have ended.
        """
        return self._transport.post(
            models.WorkerPage, "/v1/workers/drain", json_body(labels=labels, pool=text(pool), reclaim=reclaim)
        ).items

    def undrain_labelled(
        self, labels: Mapping[str, str], pool: Reference | None = None
    ) -> Sequence[models.Worker]:
        """Gives all workers with these labels work again."""
        return self._transport.post(
            models.WorkerPage, "/v1/workers/undrain", json_body(labels=labels, pool=text(pool))
        ).items

    def disable_slot(self, worker: Reference, slot: int) -> models.Worker:
        """Gives one slot no more work; what runs there ends by itself."""
        return self._transport.post(
            models.Worker, f"/v1/workers/{segment(worker)}/slots/disable", json_body(slot=slot)
        )

    def enable_slot(self, worker: Reference, slot: int) -> models.Worker:
        """Gives a slot work again."""
        return self._transport.post(
            models.Worker, f"/v1/workers/{segment(worker)}/slots/enable", json_body(slot=slot)
        )

    def instances(self, *, filter: str = "", sort: str = "") -> Items[models.InstanceRecord]:
        """Lists the machines that were rented or started, newest first or as they are sorted.

        Args:
            filter: An expression over `pool`, `worker`, `driver`, `kind`, `zone`, `purchase`, `state`, `slots`,
                `reason`, `price_per_hour`, `since`, `launched_at`, `ended_at`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport, models.InstancePage, "/v1/instances", query_params(filter=filter, sort=sort)
        )

    def queue(
        self, pool: Reference | None = None, *, starts: bool = False, filter: str = "", sort: str = ""
    ) -> Items[models.QueueEntry]:
        """Lists what of the caller's tenant waits or runs, in the order of service or as it is sorted.

        Args:
            starts: True tells of the first fifty that wait on a page when they will probably start.
            filter: An expression over `experiment`, `experiment_number`, `trial`, `trial_number`, `pool`, `priority`,
                `slots`, `min_slots`, `max_slots`, `state`, `code`, `since`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport,
            models.QueuePage,
            "/v1/queue",
            query_params(pool=text(pool), starts=starts, filter=filter, sort=sort),
        )

    def pools(self, *, filter: str = "", sort: str = "") -> Items[models.Pool]:
        """Lists the pools by name, or as they are sorted.

        Args:
            filter: An expression over `name`, `slot_kind`, `workers`, `slots`, `used_slots`, `waiting_slots`,
                `max_slots`, `preemption`, `exclusive`, `rules.order`, `rules.elastic`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(self._transport, models.PoolPage, "/v1/pools", query_params(filter=filter, sort=sort))

    def pool(self, pool: Reference) -> models.Pool:
        """Shows one pool and how it is shared."""
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
    ) -> models.Pool:
        """Changes who goes first in a pool, who may be asked for slots, and how soon; at once, for all that waits and runs.

        Args:
            order: One of fifo, priority or fair_share.
            no_ageing: True takes `ageing_s` away.
            no_topology: True takes `topology` away.
            placement: One of best_fit or spread.
            no_max_preemptions: True takes `max_preemptions` away.
            no_quantum: True takes `quantum_s` away.
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
            ),
        )

    def limits(
        self, pool: Reference | None = None, *, filter: str = "", sort: str = ""
    ) -> Items[models.Limit]:
        """Lists what the caller's tenant and its workspaces may hold, by pool, tenant and workspace or as they are sorted; an operator sees every tenant's.

        Args:
            filter: An expression over `pool`, `tenant`, `workspace`, `guaranteed`, `maximum`, `weight`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
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
        """Says what a tenant, or a workspace of one, may hold in a pool, from now on.

        Args:
            tenant: By its name; by default the caller's own.
            workspace: None: the tenant as a whole.
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
        """Says what a workspace of the caller's tenant may hold in a pool, from now on, within what the tenant may.

        Args:
            guaranteed: Of what is guaranteed to the tenant: all its workspaces together have no more.
            maximum: None: the tenant's.
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
        """Books slots of a pool for a window of time; in it they serve their holder alone.

        Args:
            tenant: By its name; by default the caller's own.
            workspace: None: the tenant as a whole.
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
        """Lists the reservations of the caller's tenant that are not over, by their begin or as they are sorted; an operator sees every tenant's.

        Args:
            filter: An expression over `pool`, `tenant`, `workspace`, `slots`, `begins_at`, `ends_at`, `held_slots`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport,
            models.ReservationPage,
            "/v1/reservations",
            query_params(filter=filter, sort=sort),
        )

    def delete_reservation(self, reservation: Reference) -> models.Reservation:
        """Gives a booking up; what its holder runs goes on."""
        return self._transport.delete(models.Reservation, f"/v1/reservations/{segment(reservation)}")

    def join_token(
        self, pool: Reference = "default", worker: str | None = None, *, ttl_s: int = 3600
    ) -> models.JoinToken:
        """Makes a one-time token with which one machine can join a pool."""
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
