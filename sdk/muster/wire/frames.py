"""Every frame."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

VERSION = 3
"""Raised when frames or fields are added that the other end must understand to do as it is told."""
OLDEST = 1
"""The oldest version whose processes are still adopted: what they hold is listened to and ended; nothing new is asked of them."""
POLL_S = 0.5
"""A worker looks so often at what a rank says that is not urgent."""
DECISION_WAIT_S = 2.0

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Frame(Protocol):
    """A message: a frozen dataclass with a `TAG`."""

    TAG: ClassVar[str]


# --- rank → worker ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """The first frame of each connection of a rank: rank 0's two (`bell` tells them apart), and of a rank that can be resized its seat's
    (`seat`: its number on this machine; -1: another connection)."""

    TAG: ClassVar[str] = "hello"
    token: str
    rank: int
    pid: int
    bell: bool = False
    version: int = VERSION
    seat: int = -1


@dataclass(frozen=True, slots=True)
class ReportFrame:
    """Report number `number` of the run, counted from 1 without gaps: plain points, or a validation when `validation` counts one."""

    TAG: ClassVar[str] = "point"
    number: int
    step: int
    time_ms: int
    values: dict[str, float]
    group: str = "training"
    validation: int = 0
    decision: bool = False


@dataclass(frozen=True, slots=True)
class CheckpointFrame:
    """The files in `directory` are complete; `after_report` is the last report before it.

    The first rank of each machine that holds files says it to its own worker; `parts` names all these workers, and rank 0's;
    `written_s`: how long writing took, until the last rank had.
    """

    TAG: ClassVar[str] = "checkpoint"
    number: int
    step: int
    directory: str
    after_report: int
    metadata: dict[str, Json] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)
    written_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """`should_stop()` has answered True for this signal."""

    TAG: ClassVar[str] = "acknowledge"
    signal: str


@dataclass(frozen=True, slots=True)
class Started:
    """Rank 0 is past `muster.trial()`."""

    TAG: ClassVar[str] = "started"


@dataclass(frozen=True, slots=True)
class StepMeasurements:
    """What `muster.elastic` has measured: seconds of a step with `per_rank` samples on each rank, what batches may be, and the gradient's
    squared norm and its variance at `first_batch` samples."""

    TAG: ClassVar[str] = "measured"
    step_s: float
    per_rank: int
    first_batch: int
    last_batch: int
    least_per_rank: int
    most_per_rank: int
    grad_sqr: float
    grad_var: float


@dataclass(frozen=True, slots=True)
class GenerationConfirmed:
    """The rank trains in this generation of its gang; 0: it stands by to join one."""

    TAG: ClassVar[str] = "seated"
    generation: int


# --- worker → rank ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the worker knows: the last report, validation, checkpoint and verdict it holds, the present signal and `decide_at`."""

    TAG: ClassVar[str] = "welcome"
    reports: int = 0
    validations: int = 0
    checkpoints: int = 0
    decided: int = 0
    signal: str = "run"
    decide_at: float | None = None
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class ConnectionRefused:
    """The connection ends: a wrong token or version, or the run is over."""

    TAG: ClassVar[str] = "refused"
    reason: str


@dataclass(frozen=True, slots=True)
class Journaled:
    """All reports up to this number, and checkpoints up to that, are on the worker's disk; the registry has decided on the checkpoints up to
    `settled`, on the last of them `settled_s` after it was announced."""

    TAG: ClassVar[str] = "journaled"
    reports: int
    checkpoints: int
    settled: int = 0
    settled_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Signalled:
    """What is asked of the run now: run, preempt, pause, stop, cancel."""

    TAG: ClassVar[str] = "signalled"
    signal: str


@dataclass(frozen=True, slots=True)
class Decided:
    """Validation number `validation` has its verdict: go on, or what `signal` says; the next decision is at `decide_at`."""

    TAG: ClassVar[str] = "decided"
    validation: int
    signal: str
    decide_at: float | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """The gang forms anew as this generation; `variables` say to the rank who it is in it and where it meets the others."""

    TAG: ClassVar[str] = "join"
    generation: int
    variables: dict[str, str]


@dataclass(frozen=True, slots=True)
class Leave:
    """The gang forms anew as this generation, without this rank."""

    TAG: ClassVar[str] = "leave"
    generation: int


# --- daemon → warm parent --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Greeting:
    """The daemon's first frame. `version`: the oldest that it can speak, since it does not know yet whom it meets."""

    TAG: ClassVar[str] = "greeting"
    version: int = OLDEST


@dataclass(frozen=True, slots=True)
class Launch:
    """Start one process of run `run` as `name` (unique): a rank, or the rendezvous.

    `command` is what the user wrote (a string is read as a shell would); a Python command runs in a fork of the
    warm parent, or is executed by `interpreter` where that is named. `limits` maps names such as `nofile` to soft limits; `cgroups` are files
    that it writes itself into first; `niceness` is how far it gives way to what else its machine computes.
    """

    TAG: ClassVar[str] = "launch"
    name: str
    run: str
    command: str | list[str]
    directory: str
    stdout: str
    stderr: str
    environment: dict[str, str]
    token: str = ""
    threads: int = 0
    interpreter: str = ""
    user: int | None = None
    group: int | None = None
    limits: dict[str, int] = field(default_factory=dict)
    network: str = ""
    cgroups: list[str] = field(default_factory=list)
    niceness: int = 0


@dataclass(frozen=True, slots=True)
class OpenRendezvous:
    """Hold the rendezvous of `run` as process `name` for `size` ranks, bound to `address`: Horovod's, for hosts `a:2,b:1`, or a
    store for `torch`."""

    TAG: ClassVar[str] = "open_rendezvous"
    name: str
    run: str
    hosts: str
    size: int
    address: str
    backend: str = "horovod"


@dataclass(frozen=True, slots=True)
class Kill:
    """Send `number` to every process of the run; 9 also takes what left its sessions. `name` narrows it to one process."""

    TAG: ClassVar[str] = "kill"
    run: str
    number: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Forget:
    """The daemon has kept the exits of this run: drop them from disk."""

    TAG: ClassVar[str] = "forget"
    run: str


@dataclass(frozen=True, slots=True)
class Quit:
    """End: every process of every run is killed first."""

    TAG: ClassVar[str] = "quit"


# --- warm parent → daemon --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProcessFrame:
    """A process the parent started. `exit_code` None: it runs; negative: the signal that ended it; `port` of a rendezvous; `left`: what its
    run had left running, and was ended with it."""

    TAG: ClassVar[str] = "process"
    name: str
    run: str
    pid: int
    exit_code: int | None = None
    port: int = 0
    error: str = ""
    left: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """Answers the greeting, after one `ProcessFrame` for each it knows; `warm` lists what it has imported."""

    TAG: ClassVar[str] = "ready"
    pid: int
    warm: list[str]
    version: int = VERSION


RANK_FRAMES: tuple[type[Frame], ...] = (
    Hello,
    ReportFrame,
    CheckpointFrame,
    Acknowledge,
    Started,
    StepMeasurements,
    GenerationConfirmed,
)
WORKER_FRAMES: tuple[type[Frame], ...] = (
    Welcome,
    ConnectionRefused,
    Journaled,
    Signalled,
    Decided,
    Join,
    Leave,
)
DAEMON_FRAMES: tuple[type[Frame], ...] = (Greeting, Launch, OpenRendezvous, Kill, Forget, Quit)
PARENT_FRAMES: tuple[type[Frame], ...] = (ProcessFrame, Ready)
