"""Parts shared by several messages: what a trial needs, and the members of a gang."""

from enum import StrEnum
from typing import Literal
from uuid import UUID

from pydantic import Field, JsonValue

from muster.config.checkpoint_policy import PeriodUnit
from muster.config.optimizations import Distributed
from shared.ids import PoolName, WorkerId
from shared.messages.base import Record

SlotKind = Literal["cuda", "rocm", "cpu"]
Isolation = Literal["sandbox", "user", "none"]
"""The isolation of runs on a worker: a sandbox for each run, one unprivileged system user for all of them, or none."""
MACHINE_LENGTH = 63
"""The most characters of a machine id."""
Thousandths = int
"""Thousandths of one slot. Users read and write fractions such as 0.5."""
WHOLE_SLOT = 1000
UNCATEGORIZED = "Uncategorized"
"""Workspace and project of an experiment that names none."""


class DesiredState(StrEnum):
    """Desired state of a trial, set by the searcher; the newest version wins. stop, cancel, kill and park are never restarted."""

    RUN = "run"
    PARK = "park"
    STOP = "stop"
    CANCEL = "cancel"
    KILL = "kill"


class Signal(StrEnum):
    """The scheduler's request to a running allocation; `RUN` asks nothing. The script acknowledges it when `should_stop()` returns True."""

    RUN = "run"
    PREEMPT = "preempt"
    PAUSE = "pause"
    STOP = "stop"
    CANCEL = "cancel"
    KILL = "kill"


class Slots(Record):
    """Slots that a run takes. `min < max` makes it elastic; 0 is a run without slots. Labels and workers restrict the machines.

    `fraction`: fraction of one slot in thousandths, shared with other runs of the same tenant; 0: whole slots.
    """

    min: int = 1
    max: int = 1
    kind: SlotKind | None = None
    single_node: bool = False
    fraction: Thousandths = 0
    required_labels: dict[str, str] = Field(default_factory=dict)
    preferred_labels: dict[str, str] = Field(default_factory=dict)
    excluded_workers: tuple[WorkerId, ...] = ()


class QueueShare(Record):
    """The experiment's policy in the queue. Only its first request sets it; `edit_experiment` changes it later."""

    priority: int | None = None
    weight: float = 1.0
    max_slots: int | None = None


PolicyAction = Literal["cancel_retries", "exclude_node", "label"]


class LogPolicy(Record):
    """A pattern that the worker matches against the output of ranks, and the action on a match. An empty pattern disables the default policy of this name."""

    name: str
    pattern: str
    action: PolicyAction = "label"


class PolicyMatch(Record):
    """A log policy that matched a line of the run's output."""

    name: str
    action: PolicyAction = "label"


class BindMount(Record):
    """A folder of the machine in a container."""

    host_path: str
    container_path: str
    read_only: bool = True


class ContainerDevice(Record):
    """A device file of the machine in a container. `mode`: letters of `rwm`."""

    host_path: str
    container_path: str
    mode: str = "rw"


class RegistryAuth(Record):
    """Credentials for the image's registry: `username` and `password`, or the name of a user secret that contains both as `user:password`."""

    username: str = ""
    password: str = ""
    secret: str | None = None


class ContainerSpec(Record):
    """The container of each of a trial's runs. `images`: one full image name per slot kind. `shm_bytes` 0: the machine's default."""

    images: dict[SlotKind, str]
    force_pull: bool = False
    registry_auth: RegistryAuth | None = None
    bind_mounts: tuple[BindMount, ...] = ()
    devices: tuple[ContainerDevice, ...] = ()
    shm_bytes: int = 0
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()


class SecretReference(Record):
    """A secret of the workspace that the run's processes get: as the environment variable `name`, or as a file below the home directory."""

    name: str
    file: str | None = None


class TrialSpec(Record):
    """Everything that a run needs to know about its trial. The scheduler reads only workspace, owner, slots, pool, share, restarts and timeouts."""

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
    container: ContainerSpec | None = None
    secrets: tuple[SecretReference, ...] = ()


class GangMember(Record):
    """One worker of a gang. Ranks are numbered across members in order; the first member is the chief.

    `fraction`: the run's fraction of the member's single slot, in thousandths; 0: all of its slots. `private_network`: its runs have networks
    of their own, which are connected for a gang; `address` is then the machine's only.
    """

    worker: WorkerId
    slots: int
    address: str = "127.0.0.1"
    slot_ids: tuple[int, ...] = ()
    fraction: Thousandths = 0
    private_network: bool = False
