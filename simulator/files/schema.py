"""What a user writes about a cluster, a policy and a workload. Units stand in the names."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from muster.config.labels import LabelPart, Labels as LabelsOfMachines, read_labels
from services.scheduler.core.state.records.labels import Labels, labels_of
from shared.ids import WorkerId
from shared.messages.specs import WHOLE_SLOT, SlotKind, Thousandths

Name = Annotated[str, Field(min_length=1, max_length=200)]
Slots = Annotated[int, Field(ge=1, le=1_000_000)]
Part = Annotated[float, Field(ge=0.001, le=0.999)]
"""Of one slot; counted in thousandths."""
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Finite = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]
AskedLabels = Annotated[
    LabelsOfMachines, BeforeValidator(lambda given: read_labels(given) if isinstance(given, str) else given)
]
"""A mapping; in CSV `rack=r7,zone=a`."""
Length = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class Strict(BaseModel):
    """Unknown keys are refused: a key that does nothing is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MachineGroup(Strict):
    """`count` machines alike, named `name-1`, `name-2`, …

    Attributes:
        is_numbered: False: there is one, and it is named just `name`.
        labels: Of all of them.
        domains: By the key of a label, how many in a row share it: with `{rack: 8}` the first eight are labelled `rack=name-1`, the
            next eight `rack=name-2`.
    """

    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    slots: Annotated[int, Field(ge=1, le=1024)]
    name: Name = "machine"
    is_numbered: bool = True
    kind: SlotKind | None = None
    labels: LabelsOfMachines = Field(default_factory=dict)
    domains: dict[LabelPart, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)

    def worker(self, number: int) -> WorkerId:
        """The name of the machine with this number, from 0."""
        return WorkerId(f"{self.name}-{number + 1}" if self.is_numbered else self.name)

    def labels_of(self, number: int) -> Labels:
        """Of the machine with this number, from 0."""
        shared = {key: f"{self.name}-{number // size + 1}" for key, size in self.domains.items()}
        return labels_of({**self.labels, **shared})


class Failures(Strict):
    """How often machines fail: the mean time between two failures of one machine, and how long it is away then."""

    every_h: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    away_min: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0


class QuotaLimits(Strict):
    """What a tenant or a workspace may hold, in slots; `weight` is its part under `fair_share`."""

    guaranteed: Annotated[int, Field(ge=0)] = 0
    maximum: Annotated[int, Field(ge=0)] | None = None
    weight: Annotated[float, Field(gt=0, le=1000)] = 1.0


class Provider(Strict):
    """Machines that are rented while they are needed.

    Attributes:
        boot_s: From an order to a machine that takes work; `failing`: share of the orders that are refused or never boot.
        spot_every_h: Mean time until a machine is taken back, two minutes after it was said; left out: none is.
    """

    slots: Annotated[int, Field(ge=1, le=1024)]
    minimum: Annotated[int, Field(ge=0, le=100_000)] = 0
    maximum: Annotated[int, Field(ge=1, le=100_000)]
    kind: SlotKind = "cuda"
    price_per_hour: Annotated[float, Field(ge=0, le=1e9)] = 0.0
    boot_s: Annotated[float, Field(ge=0, le=1e6)] = 90.0
    idle_timeout_s: Annotated[float, Field(ge=1, le=1e6)] = 300.0
    join_timeout_s: Annotated[float, Field(ge=1, le=1e6)] = 600.0
    failing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    spot_every_h: Annotated[float, Field(gt=0, le=1e6)] | None = None


class Window(Strict):
    """Slots booked for a tenant, or a workspace of one (`tenant/workspace`), in hours from the beginning."""

    holder: Annotated[str, Field(pattern=r"^[^/]+(/[^/]+)?$")]
    slots: Slots
    from_h: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    until_h: Annotated[float, Field(gt=0, le=1e6)]

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> "Window":
        if self.until_h <= self.from_h:
            raise ValueError(f"until_h {self.until_h} is not after from_h {self.from_h}")
        return self


class Cluster(Strict):
    """One pool. `exclusive`: a machine serves one tenant at a time, and gangs may span machines.

    Attributes:
        provider: Who brings machines beside those that stand.
        quotas: By `tenant` or `tenant/workspace`.
        reservations: In their windows these slots serve their holder alone.
    """

    machines: tuple[MachineGroup, ...] = ()
    provider: Provider | None = None
    exclusive: bool = True
    failures: Failures | None = None
    quotas: dict[Annotated[str, Field(pattern=r"^[^/]+(/[^/]+)?$")], QuotaLimits] = Field(
        default_factory=dict
    )
    reservations: tuple[Window, ...] = ()

    @model_validator(mode="after")
    def _has_machines(self) -> "Cluster":
        if not self.machines and self.provider is None:
            raise ValueError("there are neither machines nor a provider")
        return self

    @model_validator(mode="after")
    def _names_differ(self) -> "Cluster":
        names = [group.name for group in self.machines]
        if len(set(names)) < len(names):
            raise ValueError("two groups of machines have the same name")
        return self


class Policy(Strict):
    """How the pool is scheduled; `order` says who goes first. The defaults are those of a pool that nobody has configured."""

    order: Literal["fifo", "priority", "fair_share"] = "fair_share"
    preemption: bool = True
    default_priority: Annotated[int, Field(ge=1, le=99)] = 42
    ageing_s: Length | None = None
    min_run_s: Seconds = 0.0
    max_preemptions: Annotated[int, Field(ge=0)] | None = None
    half_life_h: Length = 24.0
    quantum_s: Annotated[float, Field(ge=10, le=1e9)] | None = 600.0
    elastic: bool = True
    defragment: bool = False
    topology: tuple[LabelPart, ...] = ()
    placement: Literal["best_fit", "spread"] = "best_fit"


class Trial(Strict):
    """A trial, or `count` of them, one every `every_s`. `length_s` is what it takes with `slots` slots; 0.5 shares one with others of
    its tenant."""

    name: Name = "trial"
    arrives_s: Seconds = 0.0
    slots: Slots | Part = 1
    min_slots: Slots | None = None
    length_s: Length
    tenant: Name = "default"
    workspace: Name = "default"
    user: Name = "default"
    experiment: str = ""
    priority: Annotated[int, Field(ge=1, le=99)] | None = None
    weight: Annotated[float, Field(gt=0, le=1000)] = 1.0
    max_slots: Slots | None = None
    single_node: bool = False
    required_labels: AskedLabels = Field(default_factory=dict)
    preferred_labels: AskedLabels = Field(default_factory=dict)
    checkpoint_s: Length | None = None
    launch_s: Seconds = 1.0
    resize_s: Seconds | None = None
    count: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    every_s: Seconds = 0.0

    @property
    def part(self) -> Thousandths:
        """How much of its one slot it takes; 0: whole slots."""
        return round(self.slots * WHOLE_SLOT) if isinstance(self.slots, float) else 0

    @property
    def whole_slots(self) -> int:
        """On how many slots it stands."""
        return 1 if isinstance(self.slots, float) else self.slots

    @model_validator(mode="after")
    def _sizes_agree(self) -> "Trial":
        if self.min_slots is not None and self.min_slots > self.slots:
            raise ValueError(f"min_slots {self.min_slots} is above slots {self.slots}")
        return self


class Curves(Strict):
    """How the trials of an experiment learn: from `first` towards an end between `best` and `worst`, which the point decides, half of
    the way in each `halves_after` steps (left out: a fifth of all)."""

    first: Finite = 1.0
    best: Finite = 0.0
    worst: Finite = 0.5
    halves_after: Length | None = None
    noise: Annotated[float, Field(ge=0, le=1e9)] = 0.0


class Experiment(Strict):
    """An experiment whose trials the search makes and stops, or `count` of them that differ in their seeds, one every `every_s`.

    Attributes:
        config: Its config as people submit it: a file beside this one, or the keys themselves.
        steps: A trial ends by itself after so many (left out: the searcher's `max_time`); a step is one of `time_metric`.
        step_s: What one takes with the slots that the config asks for; `spread`: how much trials differ, as the standard deviation
            of its logarithm.
        validate_every: Steps between two validations (left out: a hundredth of all).
    """

    config: Name | dict[str, JsonValue]
    name: Name = "experiment"
    arrives_s: Seconds = 0.0
    tenant: Name = "default"
    user: Name = "default"
    seed: Annotated[int, Field(ge=0)] = 0
    steps: Annotated[int, Field(ge=1, le=10**9)] | None = None
    step_s: Length = 1.0
    spread: Annotated[float, Field(ge=0, le=3)] = 0.0
    validate_every: Annotated[int, Field(ge=1, le=10**9)] | None = None
    checkpoint_s: Length | None = None
    launch_s: Seconds = 1.0
    learning: Curves = Curves()
    count: Annotated[int, Field(ge=1, le=10_000)] = 1
    every_s: Seconds = 0.0


class Workload(Strict):
    """At least one of either."""

    trials: tuple[Trial, ...] = ()
    experiments: tuple[Experiment, ...] = ()

    @model_validator(mode="after")
    def _is_something(self) -> "Workload":
        if not (self.trials or self.experiments):
            raise ValueError("there are neither trials nor experiments")
        return self
