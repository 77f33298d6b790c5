"""All frames."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from muster.wire.sandbox_spec import SandboxSpec

VERSION = 4
"""Increased when frames or fields are added that the other side must understand."""
OLDEST = 1
"""Oldest version whose processes are still adopted: their frames are read and they are ended; they get no new requests."""
POLL_S = 0.5
"""Seconds between a worker's reads of non-urgent frames."""
DECISION_WAIT_S = 2.0

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class Frame(Protocol):
    """A message: a frozen dataclass with a `TAG`."""

    TAG: ClassVar[str]


# --- rank → worker ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """First frame of each connection of a rank: the two of rank 0 (distinguished by `bell`), and the resize connection of a
    resizable rank (`seat`: its local rank; -1: another connection).
    """

    TAG: ClassVar[str] = "hello"
    token: str
    rank: int
    pid: int
    bell: bool = False
    version: int = VERSION
    seat: int = -1


@dataclass(frozen=True, slots=True)
class ReportFrame:
    """Report `number` of the run, from 1 without gaps: plain points, or validation number `validation` if not 0."""

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

    The first rank of each machine with files sends it to its own worker. `parts` names all these workers and rank 0's; `written_s` is
    the time until the last rank had written.
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
    """`should_stop()` has returned True for this signal."""

    TAG: ClassVar[str] = "acknowledge"
    signal: str


@dataclass(frozen=True, slots=True)
class Started:
    """Rank 0 has called `muster.trial()`."""

    TAG: ClassVar[str] = "started"


@dataclass(frozen=True, slots=True)
class StepMeasurements:
    """Measurements of `muster.elastic`: seconds per step with `per_rank` samples on each rank, the limits of batches, and the gradient's
    squared norm and variance at `first_batch` samples.
    """

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
    """The rank trains in this generation of its gang; 0 means that it waits to join one."""

    TAG: ClassVar[str] = "seated"
    generation: int


# --- worker → rank ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Welcome:
    """State of the worker: the last stored report, validation, checkpoint and decision, the current signal, and `decide_at`."""

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
    """The connection is closed: wrong token or version, or the run has ended."""

    TAG: ClassVar[str] = "refused"
    reason: str


@dataclass(frozen=True, slots=True)
class Journaled:
    """All reports and checkpoints up to these numbers are on the worker's disk. The registry has settled checkpoints up to `settled`,
    the last one `settled_s` after it was announced.
    """

    TAG: ClassVar[str] = "journaled"
    reports: int
    checkpoints: int
    settled: int = 0
    settled_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Signalled:
    """The current request to the run: run, preempt, pause, stop or cancel."""

    TAG: ClassVar[str] = "signalled"
    signal: str


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision on validation number `validation`: continue, or the given `signal`; the next decision is at `decide_at`."""

    TAG: ClassVar[str] = "decided"
    validation: int
    signal: str
    decide_at: float | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """The gang re-forms as this generation; `variables` hold the rank's identity and the rendezvous address."""

    TAG: ClassVar[str] = "join"
    generation: int
    variables: dict[str, str]


@dataclass(frozen=True, slots=True)
class Leave:
    """The gang re-forms as this generation, without this rank."""

    TAG: ClassVar[str] = "leave"
    generation: int


# --- daemon → warm parent --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Greeting:
    """First frame of the daemon. `version` is the oldest that it supports, because the peer's version is unknown."""

    TAG: ClassVar[str] = "greeting"
    version: int = OLDEST


@dataclass(frozen=True, slots=True)
class Start:
    """Start the process that the file describes (`Launch`), once: a repeated name is ignored. Only the new process reads the file, and
    removes it: the warm parent serves several tenants, and its memory is inherited by every rank.
    """

    TAG: ClassVar[str] = "start"
    name: str
    run: str
    file: str
    sandbox: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """One process of run `run` with the unique name `name`: a rank, or its startup hook. Not a frame: it travels in a file (`Start`).

    `command` is the user's command (a string is parsed as a shell would). A Python command runs in a fork of the warm parent, or in
    `interpreter` if set. `limits` maps names such as `nofile` to soft limits; `cgroups` are files in which the process first registers
    itself; `niceness` lowers its priority relative to other work on the machine. With a `sandbox` it runs there, as the sandbox's user;
    else as `user` and `group`, if set.
    """

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
    sandbox: SandboxSpec | None = None
    cgroups: list[str] = field(default_factory=list)
    niceness: int = 0


@dataclass(frozen=True, slots=True)
class OpenRendezvous:
    """Run the rendezvous of `run` as process `name` for `size` ranks, bound to `address`: Horovod's for hosts `a:2,b:1`, or a
    store for `torch`.
    """

    TAG: ClassVar[str] = "open_rendezvous"
    name: str
    run: str
    hosts: str
    size: int
    address: str
    backend: str = "horovod"
    sandbox: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Kill:
    """Send signal `number` to every process of the run; 9 also kills processes that left its sessions. `name` selects one process."""

    TAG: ClassVar[str] = "kill"
    run: str
    number: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Forget:
    """The daemon has stored the exits of this run: delete them from disk."""

    TAG: ClassVar[str] = "forget"
    run: str


@dataclass(frozen=True, slots=True)
class Quit:
    """Kill every process of every run, then end."""

    TAG: ClassVar[str] = "quit"


# --- warm parent → daemon --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProcessFrame:
    """A process started by the parent. `exit_code` is None while it runs and negative for the signal that ended it; `port` is set for a
    rendezvous; `left` describes processes that its run had left running and that were killed with it. If it could not start, `error` is
    why because of the machine, `trial_error` because of what the trial's own processes did.
    """

    TAG: ClassVar[str] = "process"
    name: str
    run: str
    pid: int
    exit_code: int | None = None
    port: int = 0
    error: str = ""
    left: str = ""
    trial_error: str = ""


@dataclass(frozen=True, slots=True)
class Ready:
    """Response to the greeting, after one `ProcessFrame` for each known process; `warm` lists the imported modules."""

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
DAEMON_FRAMES: tuple[type[Frame], ...] = (Greeting, Start, OpenRendezvous, Kill, Forget, Quit)
PARENT_FRAMES: tuple[type[Frame], ...] = (ProcessFrame, Ready)
