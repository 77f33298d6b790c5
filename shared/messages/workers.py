"""Workers: how they come, are emptied and go, and the credentials they come with."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from shared.ids import PoolName, TenantId, WorkerId
from shared.messages.allocations import Slot
from shared.messages.base import Command, Event, Query, Record, WorkerRequest
from shared.messages.specs import SlotKind


class WorkerJoined(Event, entity="worker", happened="joined", key="worker"):
    """scheduler → gateway, provisioner: the worker answers and its slots can be granted. Also sent again when it changes (slots, draining)."""

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
    worker: WorkerId
    version: int
    pool: PoolName
    reason: str
    lost_at: datetime


class WorkerLostForGood(Event, entity="worker", happened="gone", key="worker", line="worker gone"):
    """scheduler → registry: the worker is lost for good, and with it what only it holds. Its instance is gone, or it was silent for very
    long; if it comes back after all, `worker.joined` says so."""

    worker: WorkerId
    version: int
    pool: PoolName
    reason: str
    gone_at: datetime


class WorkerRefused(Event, entity="worker", happened="refused"):
    """scheduler → provisioner: a machine showed a good token and could not be let in all the same, being of another version or not what it should be."""

    worker: WorkerId
    pool: PoolName
    code: Literal["version_mismatch", "machine_unfit"]
    reason: str


class DrainWorker(Command, owner="scheduler", verb="drain_worker"):
    """provisioner, gateway → scheduler. `reclaim` false waits for its runs; true preempts them. `undo` takes it back."""

    worker: WorkerId
    reclaim: bool = False
    undo: bool = False


class DisableSlot(Command, owner="scheduler", verb="disable_slot"):
    """gateway → scheduler: the slot takes no more work, and what runs there ends by itself. `undo` takes it back."""

    worker: WorkerId
    slot: int
    undo: bool = False


class WorkerDrained(Event, entity="worker", happened="drained", key="worker"):
    """scheduler → provisioner: nothing runs there, its journal and uploads are empty, and nothing will be granted."""

    worker: WorkerId
    version: int
    pool: PoolName
    drained_at: datetime


class IssuedJoin(BaseModel):
    token: str
    expires_at: datetime


class IssueJoin(Query[IssuedJoin], owner="scheduler", name="issue_join"):
    """A join token for one worker, kept as a hash, good once until it expires."""

    pool: PoolName
    worker: WorkerId | None = None
    life_s: float = 3600.0


class Credentials(BaseModel):
    """A worker's user JWT for NATS; its nkey seed never leaves the machine."""

    worker: WorkerId
    jwt: str
    nats_url: str
    expires_at: datetime


class Join(Query[Credentials], owner="scheduler", name="join"):
    token: str
    worker: WorkerId
    user_key: str
    pool: PoolName
    address: str
    version: str | None = None
    trouble: str | None = None


class Renew(WorkerRequest[Credentials], owner="scheduler", kind="renew"):
    worker: WorkerId
    user_key: str


class WorkerKey(BaseModel):
    """The public half of the key that a worker joined with, and until when its credentials are good."""

    worker: WorkerId
    user_key: str
    expires_at: datetime


class GetWorkerKey(Query[WorkerKey], owner="scheduler", name="worker_key"):
    """the operator's tool → scheduler: what to revoke so that the bus lets a worker in no more."""

    worker: WorkerId


class WorkerView(Record):
    worker: WorkerId
    pool: PoolName
    address: str
    state: Literal["ready", "draining", "lost"]
    slots: int
    used_slots: int
    slot_kind: SlotKind | None
    last_heard: datetime
    isolated_user: bool = False
    labels: dict[str, str] = Field(default_factory=dict)
    slot_ids: tuple[int, ...] = ()
    disabled_slots: tuple[int, ...] = ()
    trouble: str | None = None
    run_slots: tuple[int, ...] = ()
    gangs: int = 0
    tenant: TenantId | None = None
