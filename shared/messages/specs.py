"""Parts that several messages share: what a trial needs, who is in a gang."""

from enum import StrEnum
from typing import Literal
from uuid import UUID

from pydantic import Field, JsonValue

from muster.config.checkpoint_policy import PeriodUnit
from muster.config.optimizations import Distributed
from shared.ids import PoolName, WorkerId
from shared.messages.base import Record

SlotKind = Literal["cuda", "rocm", "cpu"]
Thousandths = int
"""Of one slot: how a part of it is counted; people read and write 0.5."""
WHOLE_SLOT = 1000
UNCATEGORIZED = "Uncategorized"
"""The workspace and project of an experiment that names none."""


class DesiredState(StrEnum):
    """What the searcher wants of a trial; the newest version wins. stop, cancel, kill and park are never restarted."""

    RUN = "run"
    PARK = "park"
    STOP = "stop"
    CANCEL = "cancel"
    KILL = "kill"


class Signal(StrEnum):
    """What the scheduler asks of a running allocation; `RUN` asks nothing. `should_stop()` returning True acknowledges it."""

    RUN = "run"
    PREEMPT = "preempt"
    PAUSE = "pause"
    STOP = "stop"
    CANCEL = "cancel"
    KILL = "kill"


class Slots(Record):
    """How many slots a run takes: `min < max` makes it elastic; 0 is a run without slots. `part`: it takes so much of one slot,
    which it shares with others of its tenant; 0: whole slots. Labels and workers say on which machines."""

    min: int = 1
    max: int = 1
    kind: SlotKind | None = None
    single_node: bool = False
    part: Thousandths = 0
    required_labels: dict[str, str] = Field(default_factory=dict)
    preferred_labels: dict[str, str] = Field(default_factory=dict)
    excluded_workers: tuple[WorkerId, ...] = ()


class QueueShare(Record):
    """The experiment's part in the queue. Only an experiment's first request sets it; later changes come by `edit_experiment`."""

    priority: int | None = None
    weight: float = 1.0
    max_slots: int | None = None


PolicyAction = Literal["cancel_retries", "exclude_node", "label"]


class LogPolicy(Record):
    """A pattern that the worker looks for in what ranks print, and what follows. An empty one switches the default of that name off."""

    name: str
    pattern: str
    action: PolicyAction = "label"


class PolicyMatch(Record):
    """A log policy whose pattern a line of the run's output holds."""

    name: str
    action: PolicyAction = "label"


class TrialSpec(Record):
    """All that a run needs to know of its trial; the scheduler stores it unread, but for whom it belongs to, slots, pool, share,
    restarts and timeouts."""

    experiment_number: int
    experiment_name: str = ""
    workspace: str = UNCATEGORIZED
    owner: str = ""
    trial_number: int
    code_hash: str | None = None
    entrypoint: str | tuple[str, ...]
    environment: dict[str, str] = Field(default_factory=dict)
    hyperparameters: dict[str, JsonValue] = Field(default_factory=dict)
    data: dict[str, JsonValue] = Field(default_factory=dict)
    seed: int
    metric: str
    smaller_is_better: bool = True
    time_metric: str | None = None
    slots: Slots = Slots()
    pool: PoolName = PoolName("default")
    share: QueueShare = QueueShare()
    max_restarts: int = 5
    preemption_timeout_s: float = 3600.0
    upload_timeout_s: float = 300.0
    hang_timeout_s: float | None = 60.0
    start_timeout_s: float | None = 1800.0
    on_nan: str = "continue"
    checkpoint_policy: str = "best"
    checkpoint_period: int | None = None
    checkpoint_period_unit: PeriodUnit = "batches"
    distributed: Distributed = "horovod"
    optimizations: dict[str, JsonValue] = Field(default_factory=dict)
    profiling: dict[str, JsonValue] = Field(default_factory=dict)
    log_policies: tuple[LogPolicy, ...] = ()
    requirements: str | None = None
    start_checkpoint: UUID | None = None


class GangMember(Record):
    """One worker of a gang. Ranks are numbered through the members in their order; the first is the chief.

    `part`: how much of its one slot is the run's; 0: all of its slots."""

    worker: WorkerId
    slots: int
    address: str = "127.0.0.1"
    slot_ids: tuple[int, ...] = ()
    part: Thousandths = 0
