"""Table of the operations on workers, slots, instances and the queue."""

from services.gateway.cluster.operations.drain import (
    DRAIN_WORKER_OUTCOME,
    DRAIN_WORKERS_OUTCOME,
    SLOT_OUTCOME,
    disable_slot,
    drain_worker,
    drain_workers,
    enable_slot,
    undrain_worker,
    undrain_workers,
)
from services.gateway.cluster.operations.read import get_worker, list_instances, list_queue, list_workers
from services.gateway.cluster.schema import (
    DrainWorkerRequest,
    DrainWorkersRequest,
    InstancePage,
    ListInstancesRequest,
    ListQueueRequest,
    ListWorkersRequest,
    QueuePage,
    SlotRequest,
    Worker,
    WorkerPage,
    WorkerRequest,
    WorkersRequest,
)
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import CLUSTER, MANAGE, NATURAL, READ_EXPERIMENT, SAFE

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListWorkers", "GET", "/v1/workers", ListWorkersRequest, WorkerPage, CLUSTER, SAFE, list_workers, waits=True),
    Operation("GetWorker", "GET", "/v1/workers/{worker}", WorkerRequest, Worker, CLUSTER, SAFE, get_worker, waits=True),
    Operation("DrainWorker", "POST", "/v1/workers/{worker}/drain", DrainWorkerRequest, Worker, MANAGE, NATURAL, drain_worker, outcome=DRAIN_WORKER_OUTCOME),
    Operation("UndrainWorker", "POST", "/v1/workers/{worker}/undrain", WorkerRequest, Worker, MANAGE, NATURAL, undrain_worker, outcome=DRAIN_WORKER_OUTCOME),
    Operation("DrainWorkers", "POST", "/v1/workers/drain", DrainWorkersRequest, WorkerPage, MANAGE, NATURAL, drain_workers, outcome=DRAIN_WORKERS_OUTCOME),
    Operation("UndrainWorkers", "POST", "/v1/workers/undrain", WorkersRequest, WorkerPage, MANAGE, NATURAL, undrain_workers, outcome=DRAIN_WORKERS_OUTCOME),
    Operation("DisableSlot", "POST", "/v1/workers/{worker}/slots/disable", SlotRequest, Worker, MANAGE, NATURAL, disable_slot, outcome=SLOT_OUTCOME),
    Operation("EnableSlot", "POST", "/v1/workers/{worker}/slots/enable", SlotRequest, Worker, MANAGE, NATURAL, enable_slot, outcome=SLOT_OUTCOME),
    Operation("ListInstances", "GET", "/v1/instances", ListInstancesRequest, InstancePage, CLUSTER, SAFE, list_instances),
    Operation("ListQueue", "GET", "/v1/queue", ListQueueRequest, QueuePage, READ_EXPERIMENT, SAFE, list_queue, waits=True),
)
# fmt: on
