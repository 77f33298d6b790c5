"""Workers, pools, instances and the queue."""

from muster.client import models
from muster.client.paging import Items, pages
from muster.client.transport import Reference, Transport, segment


class Cluster:
    """The machines and who waits for them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def workers(self, pool: str | None = None) -> Items[models.Worker]:
        """Return the workers of one pool, or of all."""
        return pages(self._transport, models.WorkerPage, "/v1/workers", {"pool": pool})

    def worker(self, worker: Reference) -> models.Worker:
        """Return one worker."""
        return self._transport.get(models.Worker, f"/v1/workers/{segment(worker)}")

    def pools(self) -> Items[models.Pool]:
        """Return the pools by name."""
        return pages(self._transport, models.PoolPage, "/v1/pools")

    def instances(self) -> Items[models.InstanceRecord]:
        """Return the machines that the provisioner started, newest first."""
        return pages(self._transport, models.InstancePage, "/v1/instances")

    def queue(self, pool: str | None = None) -> Items[models.QueueEntry]:
        """Return the queue in the order of service."""
        return pages(self._transport, models.QueuePage, "/v1/queue", {"pool": pool})
