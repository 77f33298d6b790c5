"""Workers, pools, instances and the queue."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import JsonValue

from muster.client import models
from muster.client.paging import Items, ordered, pages
from muster.client.transport import Query, Reference, Transport, segment


class Cluster:
    """The machines and who waits for them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def workers(self, pool: str | None = None, *, filter: str = "", sort: str = "") -> Items[models.Worker]:
        """Return the workers of one pool, or of all, by id or as they are sorted; `filter` as `state = ready and labels.rack = r7`."""
        query: Query = {"pool": pool, **ordered(filter, sort)}
        return pages(self._transport, models.WorkerPage, "/v1/workers", query)

    def worker(self, worker: Reference) -> models.Worker:
        """Return one worker."""
        return self._transport.get(models.Worker, f"/v1/workers/{segment(worker)}")

    def drain(self, worker: Reference, reclaim: bool = False) -> models.Worker:
        """Give a worker no more work; `reclaim` asks its runs to save and go elsewhere."""
        path = f"/v1/workers/{segment(worker)}/drain"
        return self._transport.post(models.Worker, path, {"reclaim": reclaim})

    def undrain(self, worker: Reference) -> models.Worker:
        """Give a worker work again."""
        return self._transport.post(models.Worker, f"/v1/workers/{segment(worker)}/undrain")

    def drain_labelled(
        self, labels: Mapping[str, str], pool: str | None = None, reclaim: bool = False
    ) -> list[models.Worker]:
        """Give all workers with these labels no more work; one that joins later, labelled so, takes work."""
        body: dict[str, JsonValue] = {"labels": dict(labels), "pool": pool, "reclaim": reclaim}
        return self._transport.post(models.WorkerPage, "/v1/workers/drain", body).items

    def undrain_labelled(self, labels: Mapping[str, str], pool: str | None = None) -> list[models.Worker]:
        """Give all workers with these labels work again."""
        body: dict[str, JsonValue] = {"labels": dict(labels), "pool": pool}
        return self._transport.post(models.WorkerPage, "/v1/workers/undrain", body).items

    def disable_slot(self, worker: Reference, slot: int) -> models.Worker:
        """Give one slot of a worker no more work; what runs there ends by itself."""
        return self._transport.post(
            models.Worker, f"/v1/workers/{segment(worker)}/slots/disable", {"slot": slot}
        )

    def enable_slot(self, worker: Reference, slot: int) -> models.Worker:
        """Give a slot work again."""
        return self._transport.post(
            models.Worker, f"/v1/workers/{segment(worker)}/slots/enable", {"slot": slot}
        )

    def pools(self, *, filter: str = "", sort: str = "") -> Items[models.Pool]:
        """Return the pools by name, or as they are sorted; `filter` as `slot_kind = cuda and waiting_slots > 0`."""
        return pages(self._transport, models.PoolPage, "/v1/pools", ordered(filter, sort))

    def pool(self, pool: Reference) -> models.Pool:
        """Return one pool and how it is shared."""
        return self._transport.get(models.Pool, f"/v1/pools/{segment(pool)}")

    def edit_pool(self, /, pool: Reference, **changes: JsonValue) -> models.Pool:
        """Change a pool's rules while things run: the fields of `PATCH /v1/pools/{pool}`; what is left out stays."""
        return self._transport.patch(models.Pool, f"/v1/pools/{segment(pool)}", changes)

    def limits(self, pool: str | None = None, *, filter: str = "", sort: str = "") -> Items[models.Limit]:
        """Return what tenants and workspaces may hold in pools, or in one; `filter` as `workspace is absent and guaranteed > 0`."""
        query: Query = {"pool": pool, **ordered(filter, sort)}
        return pages(self._transport, models.LimitPage, "/v1/limits", query)

    def set_limit(
        self,
        pool: str,
        *,
        tenant: str | None = None,
        workspace: str | None = None,
        guaranteed: int = 0,
        maximum: int | None = None,
        weight: float = 1.0,
    ) -> models.Limit:
        """Say what a tenant (by default one's own), or a workspace of it, may hold in a pool; replaces what was said before."""
        body: dict[str, JsonValue] = {"pool": pool, "guaranteed": guaranteed, "weight": weight}
        given = {"tenant": tenant, "workspace": workspace, "maximum": maximum}
        body |= {name: value for name, value in given.items() if value is not None}
        return self._transport.put(models.Limit, "/v1/limits", body)

    def set_workspace_limit(
        self,
        pool: str,
        workspace: str,
        *,
        guaranteed: int = 0,
        maximum: int | None = None,
        weight: float = 1.0,
    ) -> models.Limit:
        """Say what a workspace of one's tenant may hold in a pool, within what the tenant may; replaces what was said before."""
        body: dict[str, JsonValue] = {"pool": pool, "workspace": workspace, "guaranteed": guaranteed}
        body |= {"weight": weight} if maximum is None else {"weight": weight, "maximum": maximum}
        return self._transport.put(models.Limit, "/v1/limits/workspace", body)

    def set_storage_limit(
        self, maximum_bytes: int | None, *, tenant: str | None = None
    ) -> models.StorageLimit:
        """Say how many bytes a tenant (by default one's own) may store; None bounds nothing. What is stored already stays."""
        given = {"maximum_bytes": maximum_bytes, "tenant": tenant}
        body: dict[str, JsonValue] = {name: value for name, value in given.items() if value is not None}
        return self._transport.put(models.StorageLimit, "/v1/storage/limit", body)

    def retention(self) -> models.RetentionRules:
        """Return for how long one's tenant and its workspaces keep metrics and logs."""
        return self._transport.get(models.RetentionRules, "/v1/retention")

    def set_retention(
        self,
        workspace: str | None = None,
        *,
        metric_detail_days: int | None = None,
        metric_retention_days: int | None = None,
        log_retention_days: int | None = None,
    ) -> models.RetentionRule:
        """Say for how long one's tenant, or a workspace of it, keeps metrics and logs; replaces what was said before."""
        given = {
            "workspace": workspace,
            "metric_detail_days": metric_detail_days,
            "metric_retention_days": metric_retention_days,
            "log_retention_days": log_retention_days,
        }
        body: dict[str, JsonValue] = {name: value for name, value in given.items() if value is not None}
        return self._transport.put(models.RetentionRule, "/v1/retention", body)

    def create_reservation(
        self,
        pool: str,
        slots: int,
        begins_at: datetime,
        ends_at: datetime,
        *,
        tenant: str | None = None,
        workspace: str | None = None,
    ) -> models.Reservation:
        """Book slots of a pool for a window of time, for a tenant (by default one's own) or a workspace of it."""
        window = {"begins_at": begins_at.isoformat(), "ends_at": ends_at.isoformat()}
        given = {"tenant": tenant, "workspace": workspace}
        body: dict[str, JsonValue] = {"pool": pool, "slots": slots, **window}
        body |= {name: value for name, value in given.items() if value is not None}
        return self._transport.post(models.Reservation, "/v1/reservations", body)

    def reservations(self, *, filter: str = "", sort: str = "") -> Items[models.Reservation]:
        """Return what is booked and not over, by begin or as it is sorted; `filter` as `pool = gpu and slots >= 8`."""
        return pages(self._transport, models.ReservationPage, "/v1/reservations", ordered(filter, sort))

    def delete_reservation(self, reservation: Reference) -> models.Reservation:
        """Give a booking up; what its holder runs goes on."""
        return self._transport.delete(models.Reservation, f"/v1/reservations/{segment(reservation)}")

    def instances(self, *, filter: str = "", sort: str = "") -> Items[models.InstanceRecord]:
        """Return the machines that the provisioner started, newest first or as they are sorted; `filter` as `pool = gpu and ended_at is absent`."""
        return pages(self._transport, models.InstancePage, "/v1/instances", ordered(filter, sort))

    def queue(
        self, pool: str | None = None, *, filter: str = "", sort: str = "", starts: bool = False
    ) -> Items[models.QueueEntry]:
        """Return the queue in the order of service, or as it is sorted; `filter` as `state = waiting and experiment_number = 31`.

        `starts` tells of the first fifty that wait on a page when they will probably start.
        """
        asked = {"pool": pool, "starts": starts or None, **ordered(filter, sort)}
        return pages(self._transport, models.QueuePage, "/v1/queue", asked)

    def join_token(
        self, pool: str = "default", worker: str | None = None, *, ttl_s: int = 3600
    ) -> models.JoinToken:
        """Make a one-time token with which a machine joins a pool, under any name or as `worker` alone; shown this one time."""
        body: dict[str, JsonValue] = {"pool": pool, "ttl_s": ttl_s}
        body |= {"worker": worker} if worker else {}
        return self._transport.post(models.JoinToken, "/v1/join-tokens", body)

    def usage(
        self,
        by: Sequence[str] = ("workspace",),
        since: datetime | None = None,
        until: datetime | None = None,
        days: int | None = None,
    ) -> models.Usage:
        """Return slot-seconds and cost in a period (by default the last 30 days), by day, tenant, workspace, user, label, experiment or pool.

        `days` in place of `since`: so many days of UTC, the last one counted.
        """
        return self._transport.get(models.Usage, "/v1/usage", _usage_query(by, since, until, days))

    def usage_csv(
        self,
        by: Sequence[str] = ("workspace",),
        since: datetime | None = None,
        until: datetime | None = None,
        days: int | None = None,
    ) -> str:
        """Return the same as CSV with a line of names."""
        return self._transport.get_csv("/v1/usage", _usage_query(by, since, until, days))


def _usage_query(
    by: Sequence[str], since: datetime | None, until: datetime | None, days: int | None
) -> Query:
    return {
        "by": [key for key in by if key != "label"],
        "by_label": True if "label" in by else None,
        "since": since.isoformat() if since else None,
        "until": until.isoformat() if until else None,
        "days": days,
    }
