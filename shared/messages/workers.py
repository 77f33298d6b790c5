"""Workers: joining, draining and losing them, and their credentials."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from shared.ids import PoolName, TenantId, WorkerId
from shared.messages.allocations import Slot
from shared.messages.base import Command, Event, Query, Record, WorkerRequest
from shared.messages.trial_specs import Isolation, SlotKind


class WorkerJoined(Event, entity="worker", happened="joined", key="worker"):
    """scheduler → provisioner, registry: the worker responds and its slots can be granted. Sent again when slots or draining change."""

    worker: WorkerId
    version: int
    pool: PoolName
    address: str
    slots: tuple[Slot, ...]
    state: Literal["ready", "draining"]
    used_slots: int = 0
    joined_at: datetime
    isolated_user: bool = False
    labels: dict[str, str] = Field(default_factory=dict)
    disabled_slots: tuple[int, ...] = ()


class WorkerLost(Event, entity="worker", happened="lost", key="worker"):
    """scheduler → provisioner, registry: the worker does not respond; it may come back."""

    worker: WorkerId
    version: int
    pool: PoolName
    reason: str
    lost_at: datetime


class WorkerRemoved(Event, entity="worker", happened="removed", key="worker", line="worker removed"):
    """scheduler → registry: the worker is lost for good, with all data that only it holds.

    Its instance was terminated, or it was silent for very long. If it returns nevertheless, `worker.joined` is sent.
    """

    worker: WorkerId
    version: int
    pool: PoolName
    reason: str
    removed_at: datetime


class WorkerRefused(Event, entity="worker", happened="refused"):
    """scheduler → provisioner: a machine had a valid token but was rejected, because of its version or because it does not match its order."""

    worker: WorkerId
    pool: PoolName
    code: Literal["version_mismatch", "machine_unfit"]
    reason: str


class DrainWorker(Command, owner="scheduler", verb="drain_worker"):
    """provisioner, gateway → scheduler. `reclaim` false waits for its runs; true preempts them. `undo` cancels the drain."""

    worker: WorkerId
    reclaim: bool = False
    undo: bool = False


class DisableSlot(Command, owner="scheduler", verb="disable_slot"):
    """gateway → scheduler: grant the slot no more work; its current run may finish. `undo` enables it again."""

    worker: WorkerId
    slot: int
    undo: bool = False


class WorkerDrained(Event, entity="worker", happened="drained", key="worker"):
    """scheduler → provisioner: the worker has no runs, its journal and uploads are empty, and nothing more will be granted."""

    worker: WorkerId
    version: int
    pool: PoolName
    drained_at: datetime


class IssuedJoin(BaseModel):
    """A join token and its expiry."""

    token: str
    expires_at: datetime


class IssueJoin(Query[IssuedJoin], owner="scheduler", name="issue_join"):
    """Issue a join token for one worker. It is stored as a hash, and valid once until it expires."""

    pool: PoolName
    worker: WorkerId | None = None
    life_s: float = 3600.0


class Credentials(BaseModel):
    """A worker's user JWT for NATS; its nkey seed never leaves the machine."""

    worker: WorkerId
    jwt: str
    nats_url: str
    expires_at: datetime
    warning: str | None = None


class Join(Query[Credentials], owner="scheduler", name="join"):
    """Join with a token, and return the worker's credentials."""

    token: str
    worker: WorkerId
    user_key: str
    pool: PoolName
    address: str
    version: str | None = None
    trouble: str | None = None
    isolation: Isolation = "none"
    isolation_detail: str = Field("", max_length=200)


class Renew(WorkerRequest[Credentials], owner="scheduler", kind="renew"):
    """worker → scheduler: renew credentials before they expire."""

    worker: WorkerId
    user_key: str


class WorkerKey(BaseModel):
    """Public key that a worker joined with, and when its credentials expire."""

    worker: WorkerId
    user_key: str
    expires_at: datetime


class GetWorkerKey(Query[WorkerKey], owner="scheduler", name="worker_key"):
    """operator's tool → scheduler: the key to revoke in order to lock a worker out of the bus."""

    worker: WorkerId


class WorkerView(Record):
    worker: WorkerId
    pool: PoolName
    address: str
    state: Literal["ready", "draining", "lost"]
    slots: int
    used_slots: int
    slot_kind: SlotKind | None
    last_heartbeat_at: datetime
    isolated_user: bool = False
    labels: dict[str, str] = Field(default_factory=dict)
    slot_ids: tuple[int, ...] = ()
    disabled_slots: tuple[int, ...] = ()
    trouble: str | None = None
    machine: str | None = None
    isolation: Isolation | None = None
    isolation_detail: str = ""
    run_slots: tuple[int, ...] = ()
    gangs: int = 0
    tenant: TenantId | None = None
